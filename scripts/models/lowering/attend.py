"""Attention of opset 23 in the form that attention.py finds: MatMul, scale, a causal mask, Softmax, MatMul. Other forms are computed by the body
that the standard has of them (read.py)."""

from lowering.builder import op, own_part
from lowering.products import matmul
from lowering.quantised import product as of_operands
from lowering.selection import positions

LEAST = -3.4028234663852886e38


def is_plain(node):
    """Whether a node has queries, keys and values alone, and one result."""
    others = {a.name for a in node.attribute} - {"scale", "is_causal", "q_num_heads", "kv_num_heads", "softmax_precision"}
    return sum(bool(i) for i in node.input) == 3 and all(node.input[:3]) and sum(bool(o) for o in node.output) == 1 and not others


def headed(b, c, i, name):
    """[batch, heads, tokens, depth]."""
    x = c[i]
    if x.rank == 4:
        return x
    c.rank(i, 3, "QKV"[i])
    heads = c.number(name, None, 1)
    width = x.shape[2].number
    if width is None or width % heads != 0:
        c.fail(f"{name}: {heads} heads do not divide {x.shape[2]}")
    return b.transpose(b.reshape(x, [*x.shape[:2], heads, width // heads]), [0, 2, 1, 3])


@op("Attention")
def attention(b, c):
    own_part(b, c, "heads")
    q, k, v = headed(b, c, 0, "q_num_heads"), headed(b, c, 1, "kv_num_heads"), headed(b, c, 2, "kv_num_heads")
    heads, own, depth = q.shape[1].number, k.shape[1].number, q.shape[3].number
    if None in (heads, own, depth) or heads % own != 0:
        c.fail(f"{q.shape[1]} heads of queries do not go with {k.shape[1]} of keys")
    if heads != own:  # several heads of queries read the same keys
        k, v = (b.reshape(b.broadcast(b.reshape(x, [x.shape[0], own, 1, *x.shape[2:]]), [x.shape[0], own, heads // own, *x.shape[2:]]),
                          [x.shape[0], heads, *x.shape[2:]]) for x in (k, v))
    k = b.transpose(k, [0, 1, 3, 2])
    own_part(b, c, "scores")
    scores = of_operands(b, c, matmul, q, k)
    own_part(b, c, "scale")
    scores = b.with_number("mul", scores, c.get("scale", depth ** -0.5))
    if c.get("is_causal", 0):
        own_part(b, c, "later keys")
        rows, columns = positions(b, q.shape[2], 2, 0, "int64"), positions(b, k.shape[3], 2, 1, "int64")
        later = b.map("less", rows, columns, type_="bool")
        own_part(b, c, "mask")
        scores = b.map("where", later, b.scalar(LEAST, scores.type), scores, type_=scores.type)
    own_part(b, c, "softmax")
    shifted = b.map("sub", scores, b.reduce("max", scores, [3], True))
    weights = b.map("exp", shifted)
    weights = b.map("div", weights, b.reduce("sum", weights, [3], True))
    own_part(b, c, "values")
    y = of_operands(b, c, matmul, weights, v)
    if c[0].rank == 3:
        own_part(b, c, "result")
        y = b.reshape(b.transpose(y, [0, 2, 1, 3]), [y.shape[0], y.shape[2], heads * v.shape[3]])
    return y

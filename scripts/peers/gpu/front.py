"""The front of attention: projections, norms of heads, rotation, and k and v in the rows of a cache, which a prompt fills."""

from .table import case, functional


def sizes(tokens, heads=32, key_heads=8, d=128, depth=4096):
    return dict(tokens=tokens, heads=heads, key_heads=key_heads, d=d, width=d, depth=depth, keys=tokens, batch=1, length=tokens)


# Llama 3 8B and Qwen3 8B.
TIMED = [sizes(tokens) for tokens in (1, 16, 64, 256, 1024, 4096)]
ODD = [sizes(1, 1, 1, 8, 8), sizes(7, 6, 2, 72, 40), sizes(65, 4, 4, 64, 72), sizes(130, 8, 2, 128, 136), sizes(300, 4, 1, 96, 264)]


def tensors(d):
    table = ((d["length"], d["width"] // 2), "float32")
    columns = {"q": d["heads"], "k": d["key_heads"], "v": d["key_heads"]}
    return {"x": ((d["tokens"], d["depth"]), "type"), **{f"w_{n}_nk": ((d["d"] * c, d["depth"]), "type") for n, c in columns.items()},
            "positions": ((d["tokens"],), "in order"), "slots": ((d["tokens"],), "in order"), "cos_table": table, "sin_table": table}


def normed_tensors(d):
    return {**tensors(d), "norm_q": ((d["d"],), "type"), "norm_k": ((d["d"],), "type")}


def turned(x, cos, sin):
    import torch
    a, b = x.chunk(2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


def of_heads(q, k, v, d, positions, slots, cos_table, sin_table, norm_q=None, norm_k=None, eps=None):
    """q [tokens, heads, d], and k and v as caches [1, key_heads, tokens, d]."""
    if norm_q is not None:
        q, k = functional().rms_norm(q, (d,), norm_q, eps), functional().rms_norm(k, (d,), norm_k, eps)
    cos, sin = cos_table[positions.long()], sin_table[positions.long()]
    caches = [rows.new_empty(1, rows.shape[1], len(rows), d) for rows in (k, v)]
    for cache, rows in zip(caches, (turned(k, cos, sin), v)):
        cache[0].index_copy_(1, slots.long(), rows.transpose(0, 1))
    return turned(q, cos, sin), *caches


def front(x, w_q_nk, w_k_nk, w_v_nk, **others):
    d = others["cos_table"].shape[-1] * 2
    return of_heads(*(functional().linear(x, w).unflatten(1, (-1, d)) for w in (w_q_nk, w_k_nk, w_v_nk)), d, **others)


def front_of_one(x, w_q_nk, w_k_nk, w_v_nk, **others):
    """The same with one product, whose weights the first call puts behind each other."""
    import torch
    if not hasattr(w_q_nk, "all_three"):
        w_q_nk.all_three = torch.cat([w_q_nk, w_k_nk, w_v_nk])
    d = others["cos_table"].shape[-1] * 2
    parts = functional().linear(x, w_q_nk.all_three).split([len(w_q_nk), len(w_k_nk), len(w_v_nk)], 1)
    return of_heads(*(y.unflatten(1, (-1, d)) for y in parts), d, **others)


def outputs(d):
    cache = (1, d["key_heads"], d["keys"], d["d"])
    return {"q": (d["tokens"], d["heads"], d["d"]), "k": cache, "v": cache}


def flops(d):
    return 2.0 * d["tokens"] * d["depth"] * d["d"] * (d["heads"] + 2 * d["key_heads"])


for label, params, inputs, scalars in (("", {}, tensors, {}), ("norm of heads", {"qk_norm": "weight"}, normed_tensors, {"eps": 1e-6})):
    case("qkv_rope", label, {"weights": "nk", **params}, inputs, front, outputs, TIMED, ODD, scalars=scalars, flops=flops,
         checked_types=("float16", "bfloat16"), tolerance=4, peer_tolerance=4, peers={"torch": front, "one product": front_of_one})

"""Cases of the ops on products: projections, feed-forward blocks, heads over a vocabulary, routers, in floating point and 8 bits."""

from .architectures import GATED, ROUTED, TRANSFORMERS, WITH_WORDS
from .numbers import log_spread, rounded
from .rows import gap, tokens

TYPES = {"host": {"float32": 0.55, "bfloat16": 0.35, "float16": 0.1}, "cuda": {"bfloat16": 0.8, "float16": 0.2}}


def few_or_many(n, u, target, model):
    m, use = tokens(n, u, target, model)
    return min(m, 32768), use


def made(op, n, u, target, model, dims, params=None, **more):
    m, use = few_or_many(n, u, target, model)
    return dict(dict(op=op, dims=dict(m=m, **dims), type=n.pick(TYPES[target]), params=params or {}, model=model.name, use=use, shrinks=("m",)), **more)


def gemm(n, u, target):
    """The products of a layer with their usual epilogues. Weights are as torch.nn.Linear has them (nk), or both operands
    come as they are (kn), as in exported graphs."""
    model = n.pick(TRANSFORMERS)
    where = n.pick(["into the block", "out of the block", "out of attention", "head" if model.vocab > 1100 else "out of attention"])
    params = {"weights": "nk" if n.chance(0.75) else "kn"}
    if where == "into the block":
        size = dict(n=model.ffn, k=model.hidden)
        if model.bias or not model.gated:
            params["add_bias"] = "true"
        if not model.gated:
            params["activation"] = {"relu": "relu"}.get(model.activation, "gelu_erf" if n.chance(0.5) else "gelu_tanh")
    elif where == "out of the block":
        size = dict(n=model.hidden, k=model.ffn)
    elif where == "head":
        size = dict(n=model.vocab, k=model.hidden)
    else:
        size = dict(n=model.hidden, k=model.heads * model.head_dim)
    if where.startswith("out"):
        if model.bias:
            params["add_bias"] = "true"
        if n.chance(0.5):
            params["add_residual"] = "true"
    case = made("gemm", n, u, target, model, size, params)
    if where == "head" and case["use"] != "decode":
        case["dims"]["m"] = min(case["dims"]["m"], 2048)
    return {**case, "use": f"{case['use']}, {where}", "gap": gap(n, size["k"])}


def gemm_int8(n, u, target):
    model = n.pick(TRANSFORMERS)
    size = n.pick([dict(n=model.ffn, k=model.hidden), dict(n=model.hidden, k=model.ffn)])
    return made("gemm_int8", n, u, target, model, size, n.pick([{"add_bias": "true"}, {"add_bias": "true", "activation": "gelu_erf"}]), type=result_type(target))


def result_type(target):
    """Of ops in 8 bits: what the models' other layers have there."""
    return {"host": "float32", "cuda": "bfloat16"}[target]


def swiglu(n, u, target):
    model = n.pick(GATED)
    params = {} if model.activation == "silu" else {"activation": model.activation}
    return made("swiglu", n, u, target, model, dict(n=model.ffn, k=model.hidden), params)


def swiglu_int8(n, u, target):
    model = n.pick([a for a in GATED if a.activation == "silu"])
    return made("swiglu_int8", n, u, target, model, dict(n=model.ffn, k=model.hidden), type=result_type(target))


def projections(op, n, u, target, **more):
    model = n.pick(TRANSFORMERS)
    params = {"add_bias": "true"} if model.bias and op == "qkv_projection" else {}
    dims = dict(n_q=model.heads * model.head_dim, n_kv=model.key_heads * model.head_dim, depth=model.hidden)
    return made(op, n, u, target, model, dims, params, **more)


def qkv_projection(n, u, target):
    return projections("qkv_projection", n, u, target)


def qkv_projection_int8(n, u, target):
    return projections("qkv_projection_int8", n, u, target, type=result_type(target))


def over_words(op, n, u, target, params=None):
    model = n.pick(WITH_WORDS)
    return dict(op=op, dims=dict(m=rounded(n, log_spread(u, 1, 8192)), n=model.vocab, k=model.hidden), type=n.pick(TYPES[target]),
                params=params or {}, model=model.name, use="words", shrinks=("m",))


def gemm_reduce(n, u, target):
    return over_words("gemm_reduce", n, u, target, n.pick([{"reduction": "logsumexp"}, {"reduction": "max"}]))


def linear_cross_entropy(n, u, target):
    return over_words("linear_cross_entropy", n, u, target)


def gemm_top_k(n, u, target):
    return over_words("gemm_top_k", n, u * 0.6, target, {"top_k": "8"})


def splade(n, u, target):
    model = n.pick([a for a in WITH_WORDS if a.kind == "encoder"])
    return dict(op="splade", dims=dict(k=model.hidden, positions=rounded(n, log_spread(n.uniform(), 8, 512)), batch=rounded(n, log_spread(u, 1, 128)),
                                       vocab=model.vocab), type=n.pick(TYPES[target]), params={"masked": "false"} if target == "host" else {},
                model=model.name, use="words", shrinks=("batch", "positions"))


def moe_router(n, u, target):
    model = n.pick(ROUTED)
    return made("moe_router", n, u, target, model, dict(n=model.experts, k=model.hidden), {"top_k": str(model.top_k)})


def rms_norm_gemm(n, u, target):
    model = n.pick([a for a in TRANSFORMERS if a.norm == "rms"])
    n_ = n.pick([(model.heads + 2 * model.key_heads) * model.head_dim, model.ffn])
    return made("rms_norm_gemm", n, u, target, model, dict(n=n_, k=model.hidden))


def block(op, n, u, target, **more):
    model = n.pick([a for a in GATED if a.norm == "rms" and a.activation == "silu"])
    return made(op, n, u, target, model, dict(hidden=model.ffn, k=model.hidden, n=model.hidden), **more)


def swiglu_mlp(n, u, target):
    return block("swiglu_mlp", n, u, target)


def swiglu_mlp_int8(n, u, target):
    return block("swiglu_mlp_int8", n, u, target, type="bfloat16")


OPS = {f.__name__: f for f in (gemm, gemm_int8, swiglu, swiglu_int8, qkv_projection, qkv_projection_int8, gemm_reduce, linear_cross_entropy,
                               gemm_top_k, splade, moe_router, rms_norm_gemm, swiglu_mlp, swiglu_mlp_int8)}

"""Matrix products: with weights packed ahead, as they are, and with what is fused to them."""

from .. import onednn, openblas
from ..entry import nodes, op
from ..frameworks import F, torch
from .weights import linear, schedules

FAMILY = "GEMM"
CUBES = [("m=1024,n=1024,k=1024", "f32 bf16"), ("m=4096,n=4096,k=4096", "f32 bf16")]
SKINNY = [("m=1,n=4096,k=4096", "f32 bf16"), ("m=8,n=4096,k=4096", "f32 bf16"), "m=16,n=1152,k=384"]
COMMON = dict(family=FAMILY, schedules=schedules, constants="w bias",
              prepare=lambda v: {"w": linear(v, "b", v["n"], v["k"])})
GELU = [("eltwise", onednn.GELU_ERF)]

op("gemm", label="plain", shapes=CUBES,
   torch=lambda a, w: F.linear(a, w),
   onnx=lambda w: nodes(("MatMul", ["a", "w_kn"], ["result0"], {}), w_kn=w.T),
   onednn=lambda a, w: onednn.linear(a, w),
   # By tiles f32 wants panels of 32 where weights come from beyond L2 (schedules/cpu/gemm.deep.lua).
   params=lambda type, amx, k: {"panel": "32"} if amx and type == "f32" and k >= 4096 else {},
   **{**COMMON, "schedules": lambda type, amx, k: schedules(type, amx) + (("deep",) if k >= 4096 else ())})

op("gemm", label="weights as they are", shapes=[("m=1024,n=1024,k=1024", "f32 bf16"), ("m=4096,n=4096,k=4096", "f32")],
   schedules=("kn",), family=FAMILY, prepare=COMMON["prepare"],
   torch=lambda a, b: a @ b,
   onnx=lambda: nodes(("MatMul", ["a", "b"], ["result0"], {})),
   openblas=lambda a, b: openblas.gemm(a, b))

op("gemm", label="bias GELU", shapes=[("m=1024,n=1024,k=1024", "f32 f16 bf16"), "m=256,n=1536,k=384"],
   params={"add_bias": "true", "activation": "gelu_erf"},
   torch=lambda a, w, bias: F.gelu(F.linear(a, w, bias)),
   onednn=lambda a, w, bias: onednn.linear(a, w, bias, GELU), **COMMON)

# 48 columns take 8 rows at once (schedules/lib/gemm.lua).
op("gemm", label="bias GELU, few rows", shapes=SKINNY,
   params={"add_bias": "true", "activation": "gelu_erf", "panel": "48"},
   torch=lambda a, w, bias: F.gelu(F.linear(a, w, bias)),
   onednn=lambda a, w, bias: onednn.linear(a, w, bias, GELU), **COMMON)

op("gemm", label="bias residual", shapes=["m=256,n=384,k=1536"],
   params={"add_bias": "true", "add_residual": "true"},
   torch=lambda a, w, bias, residual: F.linear(a, w, bias) + residual,
   onednn=lambda a, w, bias, residual: onednn.linear(a, w, bias, [("binary", onednn.ADD, residual)]), **COMMON)

op("gemm", label="bias GELU, then residual", shapes=["m=256,n=384,k=1536"],
   params={"add_bias": "true", "activation": "gelu_erf", "add_residual": "true", "order": "scale,bias,activation,residual"},
   torch=lambda a, w, bias, residual: F.gelu(F.linear(a, w, bias)) + residual,
   onednn=lambda a, w, bias, residual: onednn.linear(a, w, bias, GELU + [("binary", onednn.ADD, residual)]), **COMMON)

# Results of the following are small; the logits are written by no one but the peers.
HEAD = dict(family=FAMILY, constants="w bias", prepare=lambda v: {"w": linear(v, "w", v["n"], v["k"])},
            shapes=[("m=1,n=32000,k=2048", "f32 bf16"), "m=256,n=16384,k=512"])

for reduction, reduce in (("logsumexp", lambda y: torch.logsumexp(y, -1)), ("max", lambda y: y.amax(-1)),
                          ("sum", lambda y: y.sum(-1))):
    op("gemm_reduce", label=reduction, params={"reduction": reduction},
       torch=lambda x, w, last=reduce: last(F.linear(x, w)).float(),
       # A sum of as many numbers of either sign is near 0.
       tolerance=100 if reduction == "sum" else 1, **HEAD)

op("gemm_top_k", results=lambda values: values,  # indices of equal logits may differ
   torch=lambda x, w, top_k: torch.topk(F.linear(x, w), int(top_k)).values.float(), **HEAD)


def asked_of_largest(v):
    """What servers ask for, of logits that are near 1."""
    for name, value in (("temperature", 0.5), ("row_top_k", 50), ("top_p", 0.95), ("min_p", 0.02)):
        v[name].fill_(value)
    return HEAD["prepare"](v)


def drawn_of_largest(x, w, top_k, uniform, temperature, row_top_k, top_p, min_p):
    """min-p, top-k and top-p of the largest, then the token at a share of what is left, in the order of the vocabulary. Tokens may differ
    where sums of f32 do, so that the largest are what is compared."""
    values, tokens = torch.topk(F.linear(x, w).float(), int(top_k))
    y = values / temperature[:, None]
    y = y.masked_fill(y < y[:, :1] + min_p.log()[:, None], float("-inf"))
    weights = torch.softmax(y.masked_fill(torch.arange(y.shape[1]) >= row_top_k[:, None], float("-inf")), -1)
    weights = weights.masked_fill(weights.cumsum(-1) - weights >= top_p[:, None], 0)
    order = tokens.argsort(-1)
    shares = weights.gather(-1, order).cumsum(-1)
    place = torch.searchsorted(shares, (uniform[:, None] * shares[:, -1:]).contiguous(), right=True).clamp(max=y.shape[1] - 1)
    tokens.gather(-1, order).gather(-1, place)
    return values


op("gemm_top_k", label="draw", params={"draw": "true", "top_k": "64"}, results=lambda values: values, torch=drawn_of_largest,
   **{**HEAD, "prepare": asked_of_largest})

op("linear_cross_entropy", results=lambda loss: loss,
   torch=lambda x, w, labels: F.cross_entropy(F.linear(x, w).float(), labels.long(), reduction="none"), **HEAD)

op("splade", family=FAMILY, constants="w bias", params={"masked": "false"},
   shapes=["k=384,positions=16,batch=1,vocab=30522", ("k=384,positions=128,batch=2,vocab=30522", "f32 bf16")],
   prepare=lambda v: {"w": linear(v, "w", v["vocab"], v["k"])},
   torch=lambda x, w, bias: torch.log1p(F.relu(F.linear(x, w, bias))).amax(1),
   more={"torch, max first": lambda x, w, bias: torch.log1p(F.relu(F.linear(x, w, bias).amax(1)))})

op("moe_router", family=FAMILY, constants="w", shapes=["m=1,n=64,k=2048", "m=512,n=64,k=2048"],
   prepare=lambda v: {"w": linear(v, "w", v["n"], v["k"])}, results=lambda scores: scores,
   torch=lambda x, w, top_k: torch.softmax(torch.topk(F.linear(x, w).float(), int(top_k)).values, -1))


def heads(y, n_q, n_kv):
    return y.split([n_q, n_kv, n_kv], 1)


op("qkv_projection", family=FAMILY, schedules=lambda m: ("", "nk") if m <= 16 else ("",), constants="w w_q w_k w_v",
   shapes=[("m=1,n_q=4096,n_kv=1024,depth=4096", "f32 bf16"), "m=256,n_q=1024,n_kv=256,depth=1024"],
   prepare=lambda v: {"w": torch.cat([linear(v, "w_q", v["n_q"], v["depth"]), linear(v, "w_k", v["n_kv"], v["depth"]),
                                      linear(v, "w_v", v["n_kv"], v["depth"])])},
   torch=lambda x, w, n_q, n_kv: heads(F.linear(x, w), n_q, n_kv),
   onnx=None,
   onednn=lambda x, w, n_q, n_kv: (lambda call, y: (call, heads(y, n_q, n_kv)))(*onednn.linear(x, w)))

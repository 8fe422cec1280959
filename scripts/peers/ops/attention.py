"""Attention: bound by arithmetic for many queries, by reading the keys for one."""

from ..entry import nodes, op
from ..frameworks import F, torch

FAMILY = "attention"
SIZES = ["d=64,queries=1024,keys=1024,heads=8,key_heads=8,batch=1",
         "d=128,queries=1024,keys=1024,heads=8,key_heads=8,batch=1"]
GROUPED = ["d=64,queries=1024,keys=1024,heads=8,key_heads=2,batch=1"]
ENCODER = ["d=32,queries=256,keys=256,heads=12,key_heads=12,batch=1"]


def half(d, queries, keys, heads, batch):
    """Of a causal product: the pairs that count."""
    pairs = queries * (keys - queries) + queries * (queries + 1) // 2
    return 4 * d * pairs * heads * batch


def forms(type, amx):
    return ("", "online", "mma") if amx and type == "bf16" else ("", "online")


def attention(label, shapes, causal, params):
    op("attention", label=label, family=FAMILY, shapes=shapes,
       schedules=forms, params={"causal": str(causal).lower(), **params}, settings=lambda d: {"head_dim": d},
       flops=half if causal else None,
       torch=lambda q, k, v, scale, heads, key_heads: F.scaled_dot_product_attention(
           q, k, v, is_causal=causal, scale=scale, enable_gqa=heads != key_heads),
       onnx=lambda scale: nodes(
           ("Attention", ["q", "k", "v"], ["result0"], {"scale": scale, "is_causal": int(causal)})))


ALL = [*SIZES, *GROUPED, *ENCODER]
attention("", ALL, False, {})
attention("causal", ALL, True, {})
# As torch has it: weights rounded to bf16 before they meet the values.
attention("rounded weights", [(size, "bf16") for size in ALL], False, {"weight_type": "bf16"})
attention("causal, rounded weights", [(size, "bf16") for size in ALL], True, {"weight_type": "bf16"})


WINDOW = 255  # the registry's window_left


def banded(d, queries, keys, heads, batch):
    """Of a causal product with that window."""
    seen = [min(i + keys - queries, WINDOW) + 1 for i in range(queries)]
    return 4 * d * sum(seen) * heads * batch


def window_mask(v):
    at = torch.arange(v["queries"])[:, None] + v["keys"] - v["queries"]
    key = torch.arange(v["keys"])[None, :]
    return {"seen": (key <= at) & (key >= at - WINDOW)}


def slopes_mask(v):
    """ALiBi's slopes for Halyard, and what they amount to as a bias for torch."""
    heads = v["heads"]
    v["slopes"].copy_(2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads))
    at = torch.arange(v["queries"])[:, None] + v["keys"] - v["queries"]
    distance = (at - torch.arange(v["keys"])[None, :]).abs()
    bias = -v["slopes"][:, None, None] * distance
    return {"alibi_bias": bias.masked_fill(distance < 0, 0)[None].to(v["dtype"])}


ONE = SIZES[:1]
FORMS = dict(family=FAMILY, shapes=ONE, schedules=forms, settings=lambda d: {"head_dim": d})

op("attention", label="causal, window of 256", params={"causal": "true", "windowed": "true"}, flops=banded,
   prepare=window_mask, **FORMS,
   torch=lambda q, k, v, scale, seen: F.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=scale))

op("attention", label="ALiBi", params={"alibi": "true"}, prepare=slopes_mask, **FORMS,
   torch=lambda q, k, v, scale, alibi_bias: F.scaled_dot_product_attention(q, k, v, attn_mask=alibi_bias, scale=scale))

op("attention", label="mask", params={"masked": "true"}, **FORMS,
   torch=lambda q, k, v, scale, mask: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale))

op("attention", label="bias", params={"add_bias": "true"}, **FORMS,
   torch=lambda q, k, v, scale, bias: F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale))

# A batch of sentences, padded: half of the keys count.
PADDED = dict(label="padded", family=FAMILY, settings=lambda d: {"head_dim": d}, params={"padded": "true"})


def lengths_mask(v):
    batch, keys = v["batch"], v["keys"]
    v["lengths"].copy_(torch.linspace(0, keys, batch + 2)[1:-1].to(torch.int32))
    return {"seen": (torch.arange(keys) < v["lengths"][:, None])[:, None, None, :]}


op("attention", shapes=["d=64,queries=256,keys=256,heads=8,key_heads=8,batch=7"], schedules=forms, prepare=lengths_mask, **PADDED,
   flops=lambda d, queries, keys, heads, batch: 2 * d * queries * keys * heads * batch,
   torch=lambda q, k, v, scale, seen: F.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=scale))

# Every key of the cache counts; torch has no form for lengths, and gets none.
op("decode_attention", family=FAMILY, params={"padded": "false"}, schedules=("", "fused"), settings=lambda d: {"head_dim": d},
   shapes=["d=128,queries=1,keys=8192,heads=32,key_heads=8,batch=1",
           "d=128,queries=1,keys=512,heads=32,key_heads=8,batch=4"],
   torch=lambda q, k, v, scale: F.scaled_dot_product_attention(q, k, v, scale=scale, enable_gqa=True),
   more={"torch, repeated keys": lambda q, k, v, scale, heads, key_heads: F.scaled_dot_product_attention(
       q, k.repeat_interleave(heads // key_heads, 1), v.repeat_interleave(heads // key_heads, 1), scale=scale)},
   onnx=lambda scale: nodes(("Attention", ["q", "k", "v"], ["result0"], {"scale": scale})))

op("decode_attention", shapes=["d=128,queries=1,keys=2048,heads=32,key_heads=8,batch=7"], schedules=("", "fused"), prepare=lengths_mask, **PADDED,
   flops=lambda d, queries, keys, heads, batch: 2 * d * queries * keys * heads * batch,
   torch=lambda q, k, v, scale, seen: F.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=scale, enable_gqa=True))

"""Attention: bound by arithmetic for many queries, by reading the keys for one."""

from ..entry import nodes, op
from ..frameworks import F

FAMILY = "attention"
SIZES = ["d=64,queries=1024,keys=1024,heads=8,key_heads=8,batch=1",
         "d=128,queries=1024,keys=1024,heads=8,key_heads=8,batch=1"]
GROUPED = ["d=64,queries=1024,keys=1024,heads=8,key_heads=2,batch=1"]
ENCODER = ["d=32,queries=256,keys=256,heads=12,key_heads=12,batch=1"]


def half(d, queries, keys, heads, batch):
    """Of a causal product: the pairs that count."""
    pairs = queries * (keys - queries) + queries * (queries + 1) // 2
    return 4 * d * pairs * heads * batch


for label, causal in (("", False), ("causal", True)):
    op("attention", label=label, family=FAMILY, shapes=[*SIZES, *GROUPED, *ENCODER],
       schedules=("", "online"), params={"causal": str(causal).lower()}, settings=lambda d: {"head_dim": d},
       flops=half if causal else None,
       torch=lambda q, k, v, scale, heads, key_heads, now=causal: F.scaled_dot_product_attention(
           q, k, v, is_causal=now, scale=scale, enable_gqa=heads != key_heads),
       onnx=lambda scale, now=causal: nodes(
           ("Attention", ["q", "k", "v"], ["result0"], {"scale": scale, "is_causal": int(now)})))

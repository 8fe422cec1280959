"""Rotary positions: bound by memory."""

from ..entry import op
from ..frameworks import F, torch
from .weights import linear

FAMILY = "attention"
EPS = 1e-6
SIZES = ["d=128,width=128,heads=32,tokens=1,length=1", "d=128,width=128,heads=32,tokens=512,length=512",
         "d=128,width=128,heads=32,tokens=4096,length=4096"]


def in_order(v):
    """The positions of a prompt: all rows of the tables are read, each once."""
    v["positions"].copy_(torch.arange(v["tokens"]))
    return {}


def turned(x, cos, sin):
    """Halves of the elements, of which some may be left as they are."""
    width = 2 * cos.shape[-1]
    cos, sin = cos[:, None], sin[:, None]
    a, b, rest = x[..., : width // 2].float(), x[..., width // 2 : width].float(), x[..., width:]
    return torch.cat([(a * cos - b * sin).to(x.dtype), (b * cos + a * sin).to(x.dtype), rest], -1)


def neighbours_turned(x, cos, sin):
    cos, sin = cos[:, None], sin[:, None]
    a, b = x[..., 0::2].float(), x[..., 1::2].float()
    return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2).to(x.dtype)


def of_frequencies(x, positions, frequencies):
    angles = positions.double()[:, None] * frequencies.double()
    return turned(x, angles.cos().float(), angles.sin().float())


op("rope", family=FAMILY, shapes=SIZES, cold=True, prepare=in_order, constants="cos_table sin_table", onnx=None,
   torch=lambda x, positions, cos_table, sin_table: turned(x, cos_table[positions.long()], sin_table[positions.long()]))

op("rope", label="interleaved", family=FAMILY, shapes=SIZES, cold=True, prepare=in_order, constants="cos_table sin_table", onnx=None,
   params={"pairing": "interleaved"},
   torch=lambda x, positions, cos_table, sin_table: neighbours_turned(x, cos_table[positions.long()], sin_table[positions.long()]))

op("rope", label="half of a head", family=FAMILY, shapes=["d=128,width=64,heads=32,tokens=512,length=512"], cold=True, prepare=in_order,
   constants="cos_table sin_table", onnx=None,
   torch=lambda x, positions, cos_table, sin_table: turned(x, cos_table[positions.long()], sin_table[positions.long()]))

op("rope", label="computed angles", family=FAMILY, shapes=SIZES, cold=True, prepare=in_order, onnx=None, params={"angles": "frequencies"},
   torch=of_frequencies)


def front(v):
    """A prompt at the beginning of an empty cache, all of which it fills."""
    v["positions"].copy_(torch.arange(v["tokens"]))
    v["slots"].copy_(torch.arange(v["tokens"]))
    rows = [linear(v, "w_" + n, v["d"] * v["heads" if n == "q" else "key_heads"], v["depth"]) for n in "qkv"]
    return {"w": torch.cat(rows)}


def heads_turned(x, w, positions, cos_table, sin_table, slots, d, heads, key_heads, keys, norm_q=None, norm_k=None):
    """q, and k and v as caches [batch, heads, keys, d]."""
    q, k, v = F.linear(x, w).view(len(x), -1, d).split([heads, key_heads, key_heads], 1)
    if norm_q is not None:
        q, k = F.rms_norm(q, (d,), norm_q, EPS), F.rms_norm(k, (d,), norm_k, EPS)
    cos, sin = cos_table[positions.long()], sin_table[positions.long()]
    caches = [torch.empty(1, key_heads, keys, d, dtype=x.dtype) for _ in range(2)]
    for cache, rows in zip(caches, (turned(k, cos, sin), v)):
        cache[0].index_copy_(1, slots.long(), rows.transpose(0, 1))
    return turned(q, cos, sin), *caches


FRONTS = [(f"d=128,width=128,heads=32,key_heads=8,depth=4096,tokens={tokens},keys={tokens},batch=1,length={tokens}", "f32 bf16") for tokens in (1, 16)]
FRONTS.append(("d=64,width=64,heads=16,key_heads=4,depth=1024,tokens=256,keys=256,batch=1,length=256", "f32 bf16"))

op("qkv_rope", family=FAMILY, shapes=FRONTS, schedules=lambda tokens: ("", "nk") if tokens <= 16 else ("",), prepare=front,
   constants="w w_q w_k w_v cos_table sin_table", onnx=None, torch=heads_turned)

op("qkv_rope", label="norm of heads", family=FAMILY, shapes=FRONTS, schedules=lambda tokens: ("", "nk") if tokens <= 16 else ("",), prepare=front,
   constants="w w_q w_k w_v norm_q norm_k cos_table sin_table", onnx=None, params={"qk_norm": "weight"}, torch=heads_turned)

"""Rotary positions: bound by memory."""

from ..entry import op
from ..frameworks import torch

FAMILY = "attention"
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

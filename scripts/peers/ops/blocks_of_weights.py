"""Products with weights of 4 and 8 bits, beside the same with the weights that they stand for."""

from ..entry import op
from ..frameworks import F, torch

FAMILY = "GEMM"
SIZES = ["m=1,n=11008,k=4096", "m=4,n=11008,k=4096"]
SCALE = 0.02


def scale_bytes():
    return torch.tensor([SCALE], dtype=torch.float16).view(torch.uint8)


def prepare_q4_0(v):
    blocks = v["b_q4_0"]
    blocks[..., :2] = scale_bytes()
    q = torch.cat([blocks[..., 2:] & 15, blocks[..., 2:] >> 4], -1).int() - 8
    return {"w": (q * SCALE).flatten(1).to(v["dtype"])}


def prepare_q8_0(v):
    blocks = v["b_q8_0"]
    blocks[..., :2] = scale_bytes()
    return {"w": (blocks[..., 2:].contiguous().view(torch.int8).int() * SCALE).flatten(1).to(v["dtype"])}


for name, prepare in (("q4_0", prepare_q4_0), ("q8_0", prepare_q8_0)):
    op("gemm_q", label=name, family=FAMILY, shapes=SIZES, types="f32 bf16", params={"format": name}, prepare=prepare, constants="w", onnx=None,
       torch=lambda a, w: F.linear(a, w))

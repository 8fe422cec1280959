"""Products of numbers of 8 bits, beside the same in the type of the result: torch multiplies no such numbers on a host."""

from ..entry import op
from ..frameworks import F, torch

SIZES = ["m=1024,n=1024,k=1024", "m=256,n=1536,k=384", "m=16,n=1152,k=384"]


def prepare(v):
    made = {}
    for name, wide in (("a", "x"), ("b_nk", "w")):
        numbers = torch.randn(v[name].shape).to(torch.float8_e4m3fn)
        v[name].copy_(numbers.view(torch.uint8))
        made[wide] = numbers.to(v["dtype"])
    return made


op("gemm_fp8", family="GEMM", shapes=SIZES, types="f32 bf16", prepare=prepare, constants="w", onnx=None,
   torch=lambda x, w, a_scale, b_scale: F.linear(x, w) * (a_scale * b_scale))

"""Products of 8-bit operands: u8 with one scale and zero point, s8 weights with a scale a column."""

from .. import onednn
from ..entry import nodes, op
from ..frameworks import torch
from .weights import pack_into

FAMILY = "GEMM"
SIZES = ["m=1024,n=1024,k=1024", "m=256,n=1536,k=384", "m=16,n=1152,k=384"]


def prepare(v):
    generator = torch.Generator().manual_seed(7)
    w = torch.randint(-100, 100, (v["n"], v["k"]), generator=generator).to(torch.int8)
    pack_into(v["b_packed"], w)
    v["b_sum"].copy_(w.sum(1, dtype=torch.int32))
    v["b_scale"].copy_(torch.rand(v["n"], generator=generator) * 1e-3 + 1e-3)
    zero = int(v["a_zero_point"])
    return {"w": w, "w_kn": w.T.contiguous(), "zero": zero,
            "a_scales": torch.tensor([v["a_scale"]], dtype=torch.float32),
            "a_zeros": torch.tensor([zero], dtype=torch.uint8), "zeros": torch.zeros(v["n"], dtype=torch.int8),
            "packed": pack_for_torch(w, v["m"])}


def pack_for_torch(w, m):
    try:
        return torch.ops.onednn.qlinear_prepack(w, [m, w.shape[1]])
    except Exception:  # this build of torch has no oneDNN; its call will say so
        return None


def by_torch(activation):
    def call(a, a_scale, zero, packed, b_scale, zeros, bias):
        return torch.ops.onednn.qlinear_pointwise(a, a_scale, zero, packed, b_scale, zeros, bias, 1.0, 0,
                                                  torch.float32, activation, [], "none" if activation == "gelu" else "")
    return call


def by_onednn(post):
    return lambda a, w, a_scale, b_scale, zero, bias: onednn.quantised_linear(a, w, a_scale, b_scale, zero, bias, post)


def by_onnxruntime(a_scales, a_zeros, zeros, w_kn, b_scale):
    return nodes(("MatMulIntegerToFloat", ["a", "w_kn", "a_scales", "b_scale", "a_zeros", "zeros", "bias"], ["result0"],
                  {}, "com.microsoft"))


COMMON = dict(family=FAMILY, types="int8", schedules=lambda amx: ("", "mma") if amx else ("",), shapes=SIZES,
              prepare=prepare, constants="w w_kn a_scales a_zeros zeros b_scale bias")

op("gemm_int8", label="bias", params={"add_bias": "true", "zero_point": "true"}, onnx=by_onnxruntime,
   more={"torch qlinear": by_torch("none")}, onednn=by_onednn([]), **COMMON)

op("gemm_int8", label="bias GELU", params={"add_bias": "true", "zero_point": "true", "activation": "gelu_erf"},
   more={"torch qlinear": by_torch("gelu")}, onednn=by_onednn([("eltwise", onednn.GELU_ERF)]), **COMMON)

"""Products of 8-bit operands: u8 with one scale and zero point, s8 weights with a scale a column; and blocks of them."""

import zlib

from .. import onednn
from ..entry import nodes, op
from ..frameworks import F, torch
from .weights import pack_into

FAMILY = "GEMM"
SIZES = ["m=1024,n=1024,k=1024", "m=256,n=1536,k=384", "m=16,n=1152,k=384"]


def weights(v, name, n, k):
    """Fills NAME_packed, NAME_scale and NAME_sum; returns w [n, k]."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    w = torch.randint(-100, 100, (n, k), generator=generator).to(torch.int8)
    pack_into(v[name + "_packed"], w)
    v[name + "_sum"].copy_(w.sum(1, dtype=torch.int32))
    v[name + "_scale"].copy_(torch.rand(n, generator=generator) * 1e-3 + 1e-3)
    return w


def rows(v, name):
    """The scale and zero point of the u8 operand, as peers take them."""
    zero = int(v[name + "_zero_point"])
    return {"zero": zero, "scales": torch.tensor([v[name + "_scale"]], dtype=torch.float32),
            "zero_points": torch.tensor([zero], dtype=torch.uint8)}


def prepare(v):
    w = weights(v, "b", v["n"], v["k"])
    return {"w": w, "w_kn": w.T.contiguous(), "zeros": torch.zeros(v["n"], dtype=torch.int8),
            "packed": pack_for_torch(w, v["m"]), **rows(v, "a")}


def pack_for_torch(w, m):
    try:
        return torch.ops.onednn.qlinear_prepack(w, [m, w.shape[1]])
    except Exception:  # this build of torch has no oneDNN; its call will say so
        return None


def linear_of_torch(x, scale, zero, packed, w_scale, zeros, bias, activation="none"):
    return torch.ops.onednn.qlinear_pointwise(x, scale, zero, packed, w_scale, zeros, bias, 1.0, 0, torch.float32,
                                              activation, [], "none" if activation == "gelu" else "")


def by_torch(activation):
    return lambda a, a_scale, zero, packed, b_scale, zeros, bias: linear_of_torch(
        a, a_scale, zero, packed, b_scale, zeros, bias, activation)


def by_onednn(post):
    return lambda a, w, a_scale, b_scale, zero, bias: onednn.quantised_linear(a, w, a_scale, b_scale, zero, bias, post)


def product(x, w, w_scale, bias, result):
    """The node of onnxruntime; w is the name of weights [k, n]."""
    return ("MatMulIntegerToFloat", [x, w, "scales", w_scale, "zero_points", "zeros", bias], [result], {}, "com.microsoft")


def by_onnxruntime(scales, zero_points, zeros, w_kn, b_scale):
    return nodes(product("a", "w_kn", "b_scale", "bias", "result0"))


COMMON = dict(family=FAMILY, types="int8", schedules=lambda amx: ("", "mma") if amx else ("",), shapes=SIZES,
              prepare=prepare, constants="w w_kn scales zero_points zeros b_scale bias")

op("gemm_int8", label="bias", params={"add_bias": "true", "zero_point": "true"}, onnx=by_onnxruntime,
   more={"torch qlinear": by_torch("none")}, onednn=by_onednn([]), **COMMON)

op("gemm_int8", label="bias GELU", params={"add_bias": "true", "zero_point": "true", "activation": "gelu_erf"},
   more={"torch qlinear": by_torch("gelu")}, onednn=by_onednn([("eltwise", onednn.GELU_ERF)]), **COMMON)


def prepare_gated(v):
    w_gate, w_up = (weights(v, name, v["n"], v["k"]) for name in ("w_gate", "w_up"))
    return {"w_gate": w_gate, "w_up": w_up, "w_gate_kn": w_gate.T.contiguous(), "w_up_kn": w_up.T.contiguous(),
            "zeros": torch.zeros(v["n"], dtype=torch.int8), "packed_gate": pack_for_torch(w_gate, v["m"]),
            "packed_up": pack_for_torch(w_up, v["m"]), **rows(v, "x")}


def gated_by_torch(x, x_scale, zero, packed_gate, packed_up, w_gate_scale, w_up_scale, zeros, bias_gate, bias_up):
    gate = linear_of_torch(x, x_scale, zero, packed_gate, w_gate_scale, zeros, bias_gate)
    return F.silu(gate) * linear_of_torch(x, x_scale, zero, packed_up, w_up_scale, zeros, bias_up)


def gated_by_onednn(x, x_scale, zero, w_gate, w_up, w_gate_scale, w_up_scale, bias_gate, bias_up):
    """The second product with the first one's result as a post-op."""
    gate = onednn.quantised_linear(x, w_gate, x_scale, w_gate_scale, zero, bias_gate, [("eltwise", onednn.SWISH)])
    return onednn.chain(gate, onednn.quantised_linear(x, w_up, x_scale, w_up_scale, zero, bias_up,
                                                      [("binary", onednn.MUL, gate[1])]))


def gated_by_onnxruntime(scales, zero_points, zeros, w_gate_kn, w_up_kn):
    return nodes(product("x", "w_gate_kn", "w_gate_scale", "bias_gate", "gate"),
                 product("x", "w_up_kn", "w_up_scale", "bias_up", "up"), ("Sigmoid", ["gate"], ["sigmoid"], {}),
                 ("Mul", ["gate", "sigmoid"], ["activated"], {}), ("Mul", ["activated", "up"], ["result0"], {}))


op("swiglu_int8", family="blocks", types="int8", params={"add_bias": "true", "zero_point": "true"},
   shapes=["m=1,n=11008,k=4096", "m=8,n=11008,k=4096", "m=256,n=2816,k=1024"], prepare=prepare_gated,
   constants="w_gate w_up w_gate_kn w_up_kn scales zero_points zeros w_gate_scale w_up_scale bias_gate bias_up",
   more={"torch qlinear": gated_by_torch}, onednn=gated_by_onednn, onnx=gated_by_onnxruntime)


def prepare_projections(v):
    n, depth = {"q": v["n_q"], "k": v["n_kv"], "v": v["n_kv"]}, v["depth"]
    w = torch.cat([weights(v, "w_" + name, n[name], depth) for name in n])
    return {"w": w, "w_kn": w.T.contiguous(), "zeros": torch.zeros(len(w), dtype=torch.int8), "packed": pack_for_torch(w, v["m"]),
            "w_scale": torch.cat([v[f"w_{name}_scale"] for name in n]), "bias": torch.cat([v["bias_" + name] for name in n]),
            **rows(v, "x")}


def projections_by_onednn(x, x_scale, zero, w, w_scale, bias, n_q, n_kv):
    call, y = onednn.quantised_linear(x, w, x_scale, w_scale, zero, bias)
    return call, y.split([n_q, n_kv, n_kv], 1)


def projections_by_torch(x, x_scale, zero, packed, w_scale, zeros, bias, n_q, n_kv):
    return linear_of_torch(x, x_scale, zero, packed, w_scale, zeros, bias).split([n_q, n_kv, n_kv], 1)


op("qkv_projection_int8", family=FAMILY, types="int8", params={"add_bias": "true", "zero_point": "true"},
   shapes=["m=1,n_q=4096,n_kv=1024,depth=4096", "m=256,n_q=1024,n_kv=256,depth=1024"], prepare=prepare_projections,
   constants="w w_kn w_scale scales zero_points zeros bias", more={"torch qlinear": projections_by_torch},
   onednn=projections_by_onednn, onnx=None)


def prepare_block(v):
    return {name: weights(v, name, v[n], v[k])
            for name, n, k in (("w_gate", "hidden", "k"), ("w_up", "hidden", "k"), ("w_down", "n", "hidden"))}


def rounded(v):
    """Rows as s8, and their scales."""
    scale = v.abs().amax(-1, keepdim=True) / 127
    return (v / scale).round().to(torch.int8), scale


def dynamic(x, scale, w, w_scale):
    return torch._int_mm(x, w.T).float() * (scale * w_scale)


def block_by_torch(x, w_gate, w_up, w_down, w_gate_scale, w_up_scale, w_down_scale, residual, k, eps):
    x, scale = rounded(F.rms_norm(x.float(), (k,), None, eps))
    h, h_scale = rounded(F.silu(dynamic(x, scale, w_gate, w_gate_scale)) * dynamic(x, scale, w_up, w_up_scale))
    return (dynamic(h, h_scale, w_down, w_down_scale) + residual).to(residual.dtype)


op("swiglu_mlp_int8", family="blocks", types="int8", params={"type": "bfloat16"},
   shapes=["m=1,hidden=11008,k=4096,n=4096", "m=256,hidden=2816,k=1024,n=1024"], prepare=prepare_block,
   constants="w_gate w_up w_down w_gate_scale w_up_scale w_down_scale", torch=block_by_torch, onnx=None)

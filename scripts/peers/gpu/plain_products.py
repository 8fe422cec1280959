"""Cases of products without tensor cores, of 8 bits, or without fusion."""

from .images import PANEL
from .table import (CUBES, FFN, ODD_PRODUCTS, TENSOR_CORES, case, functional, gelu_of_product, multiply_flops, product, rms_linear,
                    rms_swiglu_mlp, skinny, swiglu, tiles, triton_tiles, weight)

# Products without tensor cores, in full float32.

case("gemm", "simt", {"weights": "kn"}, product, lambda a, b: a @ b, lambda d: {"y": (d["m"], d["n"])}, CUBES, ODD_PRODUCTS,
     peers={"torch": lambda a, b: a @ b}, schedule="simt", types=("float32",), flops=multiply_flops)
case("gemm", "simt nk", {"weights": "nk", "add_bias": "true"},
     lambda d: {"a": ((d["m"], d["k"]), "type"), "b_nk": ((d["n"], d["k"]), "type"), "bias": ((d["n"],), "type")},
     lambda a, b_nk, bias: a @ b_nk.T + bias, lambda d: {"y": (d["m"], d["n"])}, CUBES, ODD_PRODUCTS,
     peers={"torch": lambda a, b_nk, bias: functional().linear(a, b_nk, bias)}, schedule="simt", types=("float32",), flops=multiply_flops)


def multiply_int8(a, b_packed, b_scale, a_scale):
    panels, groups, panel, group = b_packed.shape
    b = b_packed.permute(1, 3, 0, 2).reshape(groups * group, panels * panel)[:a.shape[1], :b_scale.shape[0]]
    return (a.double() @ b.double()) * b_scale * a_scale


case("gemm_int8", "dp4a", {}, lambda d: {"a": ((d["m"], d["k"]), "uint8"), "b_packed": ((-(-d["n"] // PANEL), -(-d["k"] // 4), PANEL, 4), "int8"),
                                         "b_scale": ((d["n"],), "float32")},
     multiply_int8, lambda d: {"y": (d["m"], d["n"])}, CUBES, ODD_PRODUCTS, scalars={"a_scale": 0.02}, flops=multiply_flops,
     types=("float32",), checked_types=("float32", "bfloat16"), schedule="dp4a")


def int8_product(kind, **more):
    def tensors(d):
        of = {"n": (d["n"],), "m": (d["m"],)}
        return {"a": ((d["m"], d["k"]), kind), "b_nk": ((d["n"], d["k"]), "int8"), "b_scale": ((d["n"],), "positive"),
                **{name: (of[dim], what) for name, (dim, what) in more.items()}}
    return tensors


def multiply_nk_int8(a, b_nk, b_scale, a_scale):
    return (a.double() @ b_nk.double().T) * (b_scale * a_scale)


def quantized_linear(a, b_nk, b_scale, b_sum, a_scale_row, a_zero_point_row, bias, y_scale, y_zero_point):
    sums = a.double() @ b_nk.double().T - a_zero_point_row.double()[:, None] * b_sum.double()
    y = (sums * b_scale * a_scale_row[:, None] + bias).clamp(min=0)
    return (y / y_scale).round().add(y_zero_point).clamp(-128, 127)


def int_mm(a, b_nk):
    import torch
    return torch._int_mm(a, b_nk.T)  # cuBLASLt, sums of 32 bits


def scaled_int_mm(kind):
    def call(a, b_nk, b_scale, a_scale):
        import torch
        return (int_mm(a, b_nk).float() * (b_scale * a_scale)).to(getattr(torch, kind))
    return call


def triton_int8(kind):
    def call(a, b_nk, b_scale, a_scale):
        import torch
        return triton_tiles().product_int8(a, b_nk, b_scale, a_scale, getattr(torch, kind))
    return call


ODD_INT8_PRODUCTS = ODD_PRODUCTS + [dict(m=130, n=264, k=144), dict(m=128, n=256, k=128), dict(m=300, n=528, k=1040)]
for kind in ("float32", "bfloat16"):
    case("gemm_int8", "", {"weights": "nk", "a_type": "int8"}, int8_product("int8"), multiply_nk_int8, lambda d: {"y": (d["m"], d["n"])},
         CUBES, ODD_INT8_PRODUCTS, scalars={"a_scale": 0.02}, flops=multiply_flops, types=(kind,), checked_types=(),
         peers={"torch": scaled_int_mm(kind), "_int_mm alone": int_mm,
                "Triton": triton_int8(kind)},
         also=[tiles("large", m=8192, n=8192, k=8192)])
case("gemm_int8", "rows", {"weights": "nk", "scaling": "row", "zero_point": "true", "add_bias": "true", "activation": "relu", "output": "int8"},
     int8_product("uint8", b_sum=("n", "columns"), a_scale_row=("m", "positive"), a_zero_point_row=("m", "columns"), bias=("n", "float32")),
     quantized_linear, lambda d: {"y": (d["m"], d["n"])}, CUBES, ODD_INT8_PRODUCTS, scalars={"y_scale": 3000.0, "y_zero_point": -3},
     flops=multiply_flops, types=("bfloat16",), checked_types=())
case("gemm_int8", "unfused", {"weights": "nk", "a_type": "int8"}, int8_product("int8"), multiply_nk_int8, lambda d: {"y": (d["m"], d["n"])},
     CUBES, ODD_INT8_PRODUCTS, scalars={"a_scale": 0.02}, flops=multiply_flops, types=("float32",), checked_types=("bfloat16",), schedule="unfused")


def int8_weights(d, *names, n="n", k="k"):
    return {**{f"{name}_nk": ((d[n], d[k]), "int8") for name in names}, **{f"{name}_scale": ((d[n],), "positive") for name in names}}


def int8_linear(x, x_scale, w_nk, w_scale):
    return (x.double() @ w_nk.double().T) * (w_scale * x_scale)


def swiglu_int8(x, x_scale, w_gate_nk, w_gate_scale, w_up_nk, w_up_scale):
    return functional().silu(int8_linear(x, x_scale, w_gate_nk, w_gate_scale)) * int8_linear(x, x_scale, w_up_nk, w_up_scale)


def qkv_int8(x, x_scale, w_q_nk, w_q_scale, w_k_nk, w_k_scale, w_v_nk, w_v_scale):
    return tuple(int8_linear(x, x_scale, w, scale) for w, scale in ((w_q_nk, w_q_scale), (w_k_nk, w_k_scale), (w_v_nk, w_v_scale)))


def in_8_bits(v):
    """Rows as integers, and the scale of each."""
    scale = v.abs().amax(-1, keepdim=True) / 127
    return (v / scale).round(), scale


def swiglu_mlp_int8(x, w_gate_nk, w_gate_scale, w_up_nk, w_up_scale, w_down_nk, w_down_scale, residual, eps):
    x = x.double()
    x_q, x_scale = in_8_bits(x)
    x_scale = x_scale / (x.square().mean(-1, keepdim=True) + eps).sqrt()
    h = functional().silu(int8_linear(x_q, x_scale, w_gate_nk, w_gate_scale)) * int8_linear(x_q, 1.0, w_up_nk, w_up_scale)
    h_q, h_scale = in_8_bits(h)
    return int8_linear(h_q, h_scale * x_scale, w_down_nk, w_down_scale) + residual


for schedule in ("", "unfused", "skinny"):
    few = schedule == "skinny"
    sizes = dict(schedule=schedule, types=("bfloat16",), checked_types=("float32", "bfloat16"), tolerance=4)
    case("swiglu_int8", schedule, {"weights": "nk", "x_type": "int8"},
         lambda d: {"x": ((d["m"], d["k"]), "int8"), **int8_weights(d, "w_gate", "w_up")}, swiglu_int8, lambda d: {"y": (d["m"], d["n"])},
         [dict(m=16, n=11008, k=4096)] if few else FFN[:1], ODD_INT8_PRODUCTS, scalars={"x_scale": 1e-4}, flops=lambda d: 2 * multiply_flops(d), **sizes)
    case("qkv_projection_int8", schedule, {"weights": "nk", "x_type": "int8"},
         lambda d: {"x": ((d["m"], d["k"]), "int8"), **int8_weights(d, "w_q"), **int8_weights(d, "w_k", "w_v", n="n_kv")}, qkv_int8,
         lambda d: {"q": (d["m"], d["n"]), "k": (d["m"], d["n_kv"]), "v": (d["m"], d["n_kv"])},
         [dict(m=16 if few else 4096, n=4096, n_kv=1024, k=4096)], [dict(m=130, n=264, n_kv=72, k=80), dict(m=129, n=257, n_kv=65, k=65)],
         scalars={"x_scale": 1e-4}, flops=lambda d: 2.0 * d["m"] * d["k"] * (d["n"] + 2 * d["n_kv"]), **sizes)
    # A number in the middle of two integers may be rounded to either.
    case("swiglu_mlp_int8", schedule, {"weights": "nk"},
         lambda d: {"x": ((d["m"], d["k"]), "type"), **int8_weights(d, "w_gate", "w_up"), **int8_weights(d, "w_down", n="k", k="n"),
                    "residual": ((d["m"], d["k"]), "type")}, swiglu_mlp_int8, lambda d: {"y": (d["m"], d["k"])},
         [dict(m=16, n=11008, k=4096)] if few else FFN[:1], [dict(m=130, n=264, k=80), dict(m=300, n=512, k=1000)], scalars={"eps": 1e-6},
         flops=lambda d: 3 * multiply_flops(d), sizes=lambda d: {"hidden": d["n"]}, **{**sizes, "tolerance": 64})


# The ops on tensor cores, without fusion.

case("gemm", "unfused", {"weights": "kn", "add_bias": "true", "activation": "gelu_tanh"}, lambda d: product(d, bias=((d["n"],), "type")),
     gelu_of_product, lambda d: {"y": (d["m"], d["n"])}, CUBES, ODD_PRODUCTS, schedule="unfused", **TENSOR_CORES)
case("swiglu", "unfused", {"weights": "nk"}, lambda d: {"x": ((d["m"], d["k"]), "type"), **weight(d, "w_gate_nk", "w_up_nk")}, swiglu,
     lambda d: {"y": (d["m"], d["n"])}, FFN, ODD_PRODUCTS, checked_types=("float16", "bfloat16"), flops=lambda d: 2 * multiply_flops(d),
     tolerance=4, schedule="unfused")
case("rms_norm_gemm", "unfused", {"weights": "nk"}, lambda d: {"x": ((d["m"], d["k"]), "type"), **weight(d, "w_nk")}, rms_linear,
     lambda d: {"y": (d["m"], d["n"])}, FFN[:1], ODD_PRODUCTS, scalars={"eps": 1e-6}, checked_types=("float16", "bfloat16"),
     flops=multiply_flops, tolerance=4, schedule="unfused")
case("swiglu_mlp", "unfused", {"weights": "nk"},
     lambda d: {"x": ((d["m"], d["k"]), "type"), **weight(d, "w_gate_nk", "w_up_nk"), **weight(d, "w_down_nk", n="k", k="n"),
                "residual": ((d["m"], d["k"]), "type")}, rms_swiglu_mlp, lambda d: {"y": (d["m"], d["k"])}, FFN[:1],
     [dict(m=130, n=264, k=72), dict(m=300, n=512, k=1000)], scalars={"eps": 1e-6}, checked_types=("float16", "bfloat16"),
     flops=lambda d: 3 * multiply_flops(d), tolerance=8, sizes=lambda d: {"hidden": d["n"]}, schedule="unfused")


def qkv(x, w_q_nk, w_k_nk, w_v_nk):
    return tuple(functional().linear(x, w) for w in (w_q_nk, w_k_nk, w_v_nk))


for schedule in ("", "unfused"):
    case("qkv_projection", schedule, {"weights": "nk"},
         lambda d: {"x": ((d["m"], d["k"]), "type"), **weight(d, "w_q_nk"), **weight(d, "w_k_nk", "w_v_nk", n="n_kv")}, qkv,
         lambda d: {"q": (d["m"], d["n"]), "k": (d["m"], d["n_kv"]), "v": (d["m"], d["n_kv"])}, [dict(m=4096, n=4096, n_kv=1024, k=4096)],
         [dict(m=130, n=264, n_kv=72, k=72), dict(m=129, n=257, n_kv=65, k=65)], checked_types=("float16", "bfloat16"),
         peers={"torch": qkv} if not schedule else {}, flops=lambda d: 2.0 * d["m"] * d["k"] * (d["n"] + 2 * d["n_kv"]), schedule=schedule,
         also=[skinny(n_kv=1024)] if not schedule else [])

"""What is checked and timed: a case for an op, with its parameters, sizes and what torch would call.

`shape` gives each tensor its extents, outermost first, by the dimensions of the case; functions take
tensors by the names of the op's arguments. The reference runs on float32 copies of the inputs.
"""

import dataclasses
import typing


@dataclasses.dataclass
class Case:
    op: str
    label: str
    params: dict                # of the generator; with the type it names the library
    tensors: typing.Callable    # dims -> {name: (extents, "type", "bias", "float32", "labels" ...)}
    reference: typing.Callable  # of the inputs as float32
    outputs: typing.Callable    # dims -> {name: extents}
    timed: list                 # dims that are timed
    checked: list               # small and odd ones
    scalars: dict = dataclasses.field(default_factory=dict)
    peers: dict = dataclasses.field(default_factory=dict)  # name -> function of the inputs as they are
    flops: typing.Callable = None
    types: tuple = ("bfloat16",)
    checked_types: tuple = ("float32", "float16", "bfloat16")
    settings: dict = dataclasses.field(default_factory=dict)
    schedule: str = ""
    tolerance: float = 1.0      # times that of the type
    peer_tolerance: float = 1.0 # times that, for peers that round otherwise
    sizes: typing.Callable = None  # dims -> scalars that are sizes
    bytes_are: str = ""         # torch's type that outputs of uint8 are numbers of

    def library(self, kind):
        words = [self.op, self.label, kind]
        return "_".join("".join(c if c.isalnum() else "_" for c in w) for w in words if w)


CASES = []


def case(*arguments, also=(), **fields):
    """`also`: (label, fields) of the same case otherwise, as with another tile for other sizes."""
    first = Case(*arguments, **fields)
    CASES.append(first)
    for label, more in also:
        CASES.append(dataclasses.replace(first, label=f"{first.label} {label}".strip(), **more))


def rows_and_columns(**more):
    return lambda d: {"x": ((d["rows"], d["cols"]), "type"), **{n: ((d["cols"],) if k == "cols" else (d["rows"], d["cols"]), "type")
                                                               for n, k in more.items()}}


def same(name="y"):
    return lambda d: {name: (d["rows"], d["cols"])}


ROWS = [dict(rows=16384, cols=4096), dict(rows=21845, cols=12288), dict(rows=8192, cols=32768)]
ODD_ROWS = [dict(rows=5, cols=1), dict(rows=3, cols=1000), dict(rows=17, cols=4097), dict(rows=2, cols=4096), dict(rows=1, cols=20000),
            dict(rows=3, cols=32768), dict(rows=2, cols=40001), dict(rows=2, cols=49153), dict(rows=2, cols=131072)]


def functional():
    import torch.nn.functional
    return torch.nn.functional


def triton_rows():
    from . import triton_rows
    return triton_rows


def triton_tiles():
    from . import triton_tiles
    return triton_tiles


def both_norms(x, residual, weight, eps):
    total = x + residual
    return functional().rms_norm(total, weight.shape, weight, eps), total


case("rms_norm", "", {}, rows_and_columns(weight="cols"), lambda x, weight, eps: functional().rms_norm(x, weight.shape, weight, eps),
     same(), ROWS, ODD_ROWS, scalars={"eps": 1e-6},
     peers={"torch": lambda x, weight, eps: functional().rms_norm(x, weight.shape, weight, eps),
            "Triton": lambda x, weight, eps: triton_rows().rms_norm(x, weight, eps)})
case("rms_norm", "residual", {"add_residual": "true"}, rows_and_columns(residual="both", weight="cols"), both_norms,
     lambda d: {"y": (d["rows"], d["cols"]), "residual_out": (d["rows"], d["cols"])}, ROWS, ODD_ROWS, scalars={"eps": 1e-6},
     peers={"torch": both_norms, "Triton": lambda x, residual, weight, eps: triton_rows().rms_norm(x, weight, eps, residual)})
case("layer_norm", "", {}, rows_and_columns(weight="cols", bias="cols"),
     lambda x, weight, bias, eps: functional().layer_norm(x, weight.shape, weight, bias, eps), same(), ROWS, ODD_ROWS,
     scalars={"eps": 1e-5},
     peers={"torch": lambda x, weight, bias, eps: functional().layer_norm(x, weight.shape, weight, bias, eps),
            "Triton": lambda x, weight, bias, eps: triton_rows().layer_norm(x, weight, bias, eps)})
case("softmax", "", {}, rows_and_columns(), lambda x: x.softmax(-1), same(), ROWS, ODD_ROWS,
     peers={"torch": lambda x: x.softmax(-1), "Triton": lambda x: triton_rows().softmax(x)})
case("softmax", "log", {"log": "true"}, rows_and_columns(), lambda x: x.log_softmax(-1), same(), [], ODD_ROWS)


def cross_entropy(logits, labels, **_):
    return functional().cross_entropy(logits.float(), labels.long(), reduction="none")


case("cross_entropy", "", {}, lambda d: {"logits": ((d["rows"], d["cols"]), "type"), "labels": ((d["rows"],), "labels")}, cross_entropy,
     lambda d: {"loss": (d["rows"],)}, [dict(rows=8192, cols=128256)], [dict(rows=3, cols=1000), dict(rows=2, cols=32001)],
     scalars={"ignore_index": -100},
     peers={"torch": cross_entropy, "Triton": lambda logits, labels, ignore_index: triton_rows().cross_entropy(logits, labels, ignore_index)})


def product(d, **more):
    return {"a": ((d["m"], d["k"]), "type"), "b": ((d["k"], d["n"]), "type"), **more}


def multiply_flops(d):
    return 2.0 * d["m"] * d["n"] * d["k"]


def gelu_of_product(a, b, bias, residual=None):
    y = functional().gelu(a @ b + bias, approximate="tanh")
    return y if residual is None else y + residual


def lt_gelu(a, b, bias):
    import torch
    return torch._addmm_activation(bias, a, b, use_gelu=True)  # cuBLASLt's epilogue


CUBES = [dict(m=4096, n=4096, k=4096)]
TILES = {"large": dict(rows=128, columns=192, stages=4), "flat": dict(rows=128, columns=192, stages=5),
         "few rows in clusters": dict(rows=64, columns=128, stages=6, cluster=2)}
ODD_SKINNY = [dict(m=1, n=1, k=1), dict(m=16, n=264, k=72), dict(m=17, n=257, k=65), dict(m=5, n=512, k=1000), dict(m=31, n=96, k=4096)]


def skinny(**more):
    dims = {"m": 16, "n": 4096, "k": 4096, **more}
    return "few rows", dict(schedule="skinny", timed=[dims], checked=[{**d, **{x: d["n"] for x in more if x not in d}} for d in ODD_SKINNY])


def tiles(label, **timed):
    return label, dict(settings=TILES[label], timed=[timed], checked_types=())

ODD_PRODUCTS = [dict(m=1, n=1, k=1), dict(m=130, n=264, k=72), dict(m=129, n=257, k=65), dict(m=300, n=512, k=1000), dict(m=128, n=256, k=64)]
TENSOR_CORES = dict(checked_types=("float16", "bfloat16"), flops=multiply_flops)

case("gemm", "", {"weights": "kn"}, product, lambda a, b: a @ b, lambda d: {"y": (d["m"], d["n"])},
     CUBES, ODD_PRODUCTS, peers={"torch": lambda a, b: a @ b, "Triton": lambda a, b: triton_tiles().product(a, b)},
     also=[tiles("large", m=8192, n=8192, k=8192)], **TENSOR_CORES)
case("gemm", "bias GELU", {"weights": "kn", "add_bias": "true", "activation": "gelu_tanh"},
     lambda d: product(d, bias=((d["n"],), "type")), gelu_of_product, lambda d: {"y": (d["m"], d["n"])},
     CUBES, ODD_PRODUCTS,
     also=[tiles("large", m=8192, n=8192, k=8192), tiles("flat", m=256, n=11008, k=4096), skinny(),
           tiles("few rows in clusters", m=16, n=4096, k=4096)],
     peers={"torch": gelu_of_product, "cuBLASLt": lt_gelu, "Triton": lambda a, b, bias: triton_tiles().gelu_product(a, b, bias)},
     **TENSOR_CORES)
case("gemm", "bias GELU residual", {"weights": "kn", "add_bias": "true", "activation": "gelu_tanh", "add_residual": "true"},
     lambda d: product(d, bias=((d["n"],), "type"), residual=((d["m"], d["n"]), "type")), gelu_of_product,
     lambda d: {"y": (d["m"], d["n"])}, CUBES[:1], ODD_PRODUCTS, peers={"torch": gelu_of_product}, **TENSOR_CORES)
case("gemm", "nk", {"weights": "nk", "add_bias": "true"},
     lambda d: {"a": ((d["m"], d["k"]), "type"), "b_nk": ((d["n"], d["k"]), "type"), "bias": ((d["n"],), "type")},
     lambda a, b_nk, bias: a @ b_nk.T + bias, lambda d: {"y": (d["m"], d["n"])}, CUBES[:1], ODD_PRODUCTS,
     peers={"torch": lambda a, b_nk, bias: functional().linear(a, b_nk, bias)}, schedule="nk", also=[skinny()], **TENSOR_CORES)


def cut_to_tf32(x):
    import torch
    return (x.float().view(torch.int32) & ~0x1fff).view(torch.float32).to(x.dtype)


def tf32_product(a, b_nk):
    import torch
    torch.backends.cuda.matmul.allow_tf32 = True
    y = a @ b_nk.T
    torch.backends.cuda.matmul.allow_tf32 = False
    return y


case("gemm", "TF32", {"weights": "nk", "tf32": "true"},
     lambda d: {"a": ((d["m"], d["k"]), "type"), "b_nk": ((d["n"], d["k"]), "type")},
     lambda a, b_nk: cut_to_tf32(a) @ cut_to_tf32(b_nk).T, lambda d: {"y": (d["m"], d["n"])}, CUBES[:1], ODD_PRODUCTS,
     peers={"cuBLAS": tf32_product}, schedule="tf32", types=("float32",), checked_types=(), flops=multiply_flops, tolerance=4,
     peer_tolerance=30)


def swiglu(x, w_gate_nk, w_up_nk):
    return functional().silu(functional().linear(x, w_gate_nk)) * functional().linear(x, w_up_nk)


def rms_linear(x, w_nk, eps):
    return functional().linear(functional().rms_norm(x, x.shape[-1:], None, eps), w_nk)


def rms_swiglu_mlp(x, w_gate_nk, w_up_nk, w_down_nk, residual, eps):
    h = swiglu(functional().rms_norm(x, x.shape[-1:], None, eps), w_gate_nk, w_up_nk)
    return functional().linear(h, w_down_nk) + residual


def weight(d, *names, n="n", k="k"):
    return {name: ((d[n], d[k]), "type") for name in names}


FFN = [dict(m=4096, n=11008, k=4096)]
case("swiglu", "", {"weights": "nk"}, lambda d: {"x": ((d["m"], d["k"]), "type"), **weight(d, "w_gate_nk", "w_up_nk")}, swiglu,
     lambda d: {"y": (d["m"], d["n"])}, FFN, ODD_PRODUCTS,
     peers={"torch": swiglu, "Triton": lambda x, w_gate_nk, w_up_nk: triton_tiles().swiglu(x, w_gate_nk, w_up_nk)}, checked_types=("float16", "bfloat16"),
     flops=lambda d: 2 * multiply_flops(d), tolerance=4, also=[skinny(n=11008)])
case("rms_norm_gemm", "", {"weights": "nk"}, lambda d: {"x": ((d["m"], d["k"]), "type"), **weight(d, "w_nk")}, rms_linear,
     lambda d: {"y": (d["m"], d["n"])}, FFN[:1], ODD_PRODUCTS, scalars={"eps": 1e-6}, peers={"torch": rms_linear},
     checked_types=("float16", "bfloat16"), flops=multiply_flops, tolerance=4)
case("swiglu_mlp", "", {"weights": "nk"},
     lambda d: {"x": ((d["m"], d["k"]), "type"), **weight(d, "w_gate_nk", "w_up_nk"), **weight(d, "w_down_nk", n="k", k="n"),
                "residual": ((d["m"], d["k"]), "type")}, rms_swiglu_mlp, lambda d: {"y": (d["m"], d["k"])}, FFN[:1],
     [dict(m=130, n=264, k=72), dict(m=300, n=512, k=1000)], scalars={"eps": 1e-6}, peers={"torch": rms_swiglu_mlp},
     checked_types=("float16", "bfloat16"), flops=lambda d: 3 * multiply_flops(d), tolerance=8, sizes=lambda d: {"hidden": d["n"]}, also=[skinny(n=11008)])


def chain(x, bias):
    return functional().gelu(x + bias, approximate="tanh")


WIDE_ROWS = [dict(rows=16384, cols=4096), dict(rows=1048576, cols=64)]

for schedule in ("", "unfused"):
    case("bias_activation", schedule, {"activation": "gelu_tanh"}, rows_and_columns(bias="cols"), chain, same(), WIDE_ROWS, ODD_ROWS,
         peers={"torch": chain}, schedule=schedule)
case("bias_activation", "residual", {"activation": "silu", "add_residual": "true"}, rows_and_columns(bias="cols", residual="both"),
     lambda x, bias, residual: functional().silu(x + bias) + residual, same(), WIDE_ROWS[:1], ODD_ROWS,
     peers={"torch": lambda x, bias, residual: functional().silu(x + bias) + residual})


# What the row ops cost without fusion.
case("rms_norm", "unfused", {}, rows_and_columns(weight="cols"), lambda x, weight, eps: functional().rms_norm(x, weight.shape, weight, eps),
     same(), ROWS[:1], ODD_ROWS, scalars={"eps": 1e-6}, schedule="unfused")
case("layer_norm", "unfused", {}, rows_and_columns(weight="cols", bias="cols"),
     lambda x, weight, bias, eps: functional().layer_norm(x, weight.shape, weight, bias, eps), same(), ROWS[:1], ODD_ROWS,
     scalars={"eps": 1e-5}, schedule="unfused")
case("softmax", "unfused", {}, rows_and_columns(), lambda x: x.softmax(-1), same(), ROWS[:1], ODD_ROWS, schedule="unfused")
case("cross_entropy", "unfused", {}, lambda d: {"logits": ((d["rows"], d["cols"]), "type"), "labels": ((d["rows"],), "labels")},
     lambda logits, labels, **_: functional().cross_entropy(logits, labels.long(), reduction="none"), lambda d: {"loss": (d["rows"],)},
     [dict(rows=8192, cols=128256)], [dict(rows=3, cols=1000), dict(rows=2, cols=32001)], scalars={"ignore_index": -100}, schedule="unfused")

from . import images, attention, plain_products, reduced_products, sampling, experts, float8, front, quantized_weights  # noqa: E402, F401 (they add cases)

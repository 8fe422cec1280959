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
TILES = {"large": dict(columns=192, stages=4), "flat": dict(columns=192, stages=5),
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


# Images. Channels innermost is torch's channels_last, seen as it lies in memory.

def pixels(*names):
    return lambda d: tuple(d[n] for n in names)


def batch_norm(x, weight, bias, mean, variance, eps):
    return functional().batch_norm(x, mean.to(x.dtype), variance.to(x.dtype), weight.to(x.dtype), bias.to(x.dtype), eps=eps)


def batch_norm_last(x_nhwc, weight, bias, mean, variance, eps):
    return batch_norm(x_nhwc.permute(0, 3, 1, 2), weight, bias, mean, variance, eps).permute(0, 2, 3, 1)


def of_channels(x, shape):
    return lambda d: {x: (shape(d), "type"), "weight": ((d["c"],), "float32"), "bias": ((d["c"],), "float32"),
                      "mean": ((d["c"],), "float32"), "variance": ((d["c"],), "positive")}


IMAGES = [dict(n=64, c=256, h=56, w=56), dict(n=256, c=64, h=1, w=3136)]
ODD_IMAGES = [dict(n=1, c=1, h=1, w=1), dict(n=2, c=5, h=7, w=13), dict(n=3, c=12, h=8, w=130), dict(n=1, c=33, h=5, w=64)]

case("batch_norm", "", {}, of_channels("x", pixels("n", "c", "h", "w")), batch_norm, lambda d: {"y": pixels("n", "c", "h", "w")(d)},
     IMAGES, ODD_IMAGES, scalars={"eps": 1e-5}, peers={"torch": batch_norm})
case("batch_norm", "NHWC", {"layout": "nhwc"}, of_channels("x_nhwc", pixels("n", "h", "w", "c")), batch_norm_last,
     lambda d: {"y_nhwc": pixels("n", "h", "w", "c")(d)}, IMAGES[:1], ODD_IMAGES, scalars={"eps": 1e-5}, peers={"torch": batch_norm_last})


def group_norm(x, weight, bias, groups, eps):
    if x.shape[2] * x.shape[3] == 1 and x.shape[1] == groups:  # which torch refuses: the only one is its own mean
        return bias[None, :, None, None].expand(x.shape).to(x.dtype)
    return functional().group_norm(x, groups, weight, bias, eps)


for schedule in ("", "unfused"):
    case("group_norm", schedule, {}, lambda d: {"x": (pixels("n", "c", "h", "w")(d), "type"), "weight": ((d["c"],), "type"), "bias": ((d["c"],), "type")},
         group_norm, lambda d: {"y": pixels("n", "c", "h", "w")(d)}, [dict(n=16, c=320, h=1, w=4096), dict(n=8, c=320, h=64, w=64)],
         [dict(n=1, c=4, h=1, w=1), dict(n=2, c=12, h=7, w=13), dict(n=3, c=64, h=5, w=130), dict(n=2, c=12, h=130, w=130)], scalars={"groups": 4, "eps": 1e-5},
         peers={"torch": group_norm} if not schedule else {}, schedule=schedule,
         also=[("32 groups", dict(timed=[dict(n=16, c=320, h=64, w=64)], checked=[dict(n=2, c=64, h=7, w=13)], checked_types=(),
                                  scalars={"groups": 32, "eps": 1e-5}, peers={"torch": group_norm}))] if not schedule else [])


def transposed(x):
    return x.transpose(1, 2).contiguous()


for schedule in ("", "unfused"):
    case("transpose", schedule, {}, lambda d: {"x": ((d["batch"], d["rows"], d["cols"]), "type")}, transposed,
         lambda d: {"y": (d["batch"], d["cols"], d["rows"])}, [dict(batch=1, rows=16384, cols=4096), dict(batch=64, rows=768, cols=1024)],
         [dict(batch=1, rows=1, cols=1), dict(batch=2, rows=65, cols=129), dict(batch=3, rows=70, cols=33), dict(batch=1, rows=1000, cols=264)],
         peers={"torch": transposed} if not schedule else {}, schedule=schedule)


def window_flops(d, channels):
    return 2.0 * d["n"] * d["h"] * d["w"] * d["o"] * channels * 9


def depthwise(x, weight, bias):
    channels = weight.shape[-1]
    y = functional().conv2d(x.permute(0, 3, 1, 2), weight.permute(2, 0, 1)[:, None], bias, padding=1, groups=channels)
    return functional().relu(y).permute(0, 2, 3, 1)


for schedule in ("", "unfused"):
    case("depthwise_conv2d", schedule, {"add_bias": "true", "activation": "relu"},
         lambda d: {"x": (pixels("n", "h", "w", "c")(d), "type"), "weight": ((3, 3, d["c"]), "type"), "bias": ((d["c"],), "type")}, depthwise,
         lambda d: {"y": pixels("n", "h", "w", "c")(d)}, [dict(n=64, h=112, w=112, c=32), dict(n=64, h=28, w=28, c=512)], ODD_IMAGES,
         peers={"torch": depthwise} if not schedule else {}, schedule=schedule)


PANEL = 64


def unpacked(weight_packed, o, c):
    """The weights (o, c, rows, columns) of one group from their panels."""
    panels, rows, columns, steps, panel, group = weight_packed.shape[1:]
    return weight_packed[0].permute(0, 4, 3, 5, 1, 2).reshape(panels * panel, steps * group, rows, columns)[:o, :c]


def convolution(group_of):
    def tensors(d, kind="type"):
        return {"x": ((d["n"], d["h"], d["w"], 1, d["c"]), kind),
                "weight_packed": ((1, -(-d["o"] // PANEL), 3, 3, -(-d["c"] // group_of), PANEL, group_of), kind), "bias": ((1, d["o"]), "type")}
    return tensors


def convolve(x, weight_packed, bias):
    y = functional().conv2d(x[:, :, :, 0].permute(0, 3, 1, 2), unpacked(weight_packed, bias.shape[1], x.shape[-1]), bias[0], padding=1)
    return functional().relu(y).permute(0, 2, 3, 1)[:, :, :, None]


def convolved(d):
    return {"y": (d["n"], d["h"], d["w"], 1, d["o"])}


CONVOLUTIONS = [dict(n=32, h=56, w=56, c=64, o=64), dict(n=32, h=14, w=14, c=256, o=256)]
ODD_CONVOLUTIONS = [dict(n=1, h=1, w=1, c=1, o=1), dict(n=2, h=7, w=13, c=5, o=70), dict(n=1, h=9, w=3, c=32, o=130)]


ODD_TENSOR_CONVOLUTIONS = ODD_CONVOLUTIONS + [dict(n=3, h=19, w=11, c=72, o=136), dict(n=40, h=5, w=7, c=144, o=136), dict(n=26, h=9, w=6, c=16, o=40)]


def channels_last(kernel):
    return lambda d: {"x": ((d["n"], d["h"], d["w"], 1, d["c"]), "type"),
                      "weight_ohwi": ((1, d["o"], kernel, kernel, d["c"]), "type"), "bias": ((1, d["o"]), "type")}


def seen_by_torch(x, weight_ohwi):
    return x[:, :, :, 0].permute(0, 3, 1, 2), weight_ohwi[0].permute(0, 3, 1, 2)


def convolve_channels_last(x, weight_ohwi, bias):
    x, weight = seen_by_torch(x, weight_ohwi)
    y = functional().conv2d(x, weight, bias[0], padding=weight.shape[-1] // 2)
    return functional().relu(y).permute(0, 2, 3, 1)[:, :, :, None]


def cudnn_fused(x, weight_ohwi, bias):
    import torch
    x, weight = seen_by_torch(x, weight_ohwi)
    around = weight.shape[-1] // 2
    y = torch.cudnn_convolution_relu(x, weight, bias[0], (1, 1), (around, around), (1, 1), 1)
    return y.permute(0, 2, 3, 1)[:, :, :, None]


def tensor_convolution(label, kernel, sizes, **more):
    case("conv2d", label, {"add_bias": "true", "activation": "relu", "kernel": str(kernel), "padding": str(kernel // 2)},
         channels_last(kernel), convolve_channels_last, convolved, sizes, ODD_TENSOR_CONVOLUTIONS,
         peers={"torch": convolve_channels_last, "cuDNN": cudnn_fused}, flops=lambda d: window_flops(d, d["c"]) * kernel * kernel / 9,
         **more)


# On tensor cores; sizes of a ResNet-50.
tensor_convolution("", 3, [CONVOLUTIONS[0], dict(n=32, h=28, w=28, c=128, o=128), CONVOLUTIONS[1]], checked_types=("float16", "bfloat16"))
tensor_convolution("1x1", 1, [dict(n=32, h=56, w=56, c=64, o=256)], settings={"columns": 256, "stages": 2}, checked_types=())

# bf16 weights lie in pairs of channels, the others do not.
for types, together in ((("bfloat16",), 2), (("float32", "float16"), 1)):
    for schedule in ("simt", "unfused"):
        case("conv2d", schedule, {"add_bias": "true", "activation": "relu"}, convolution(together), convolve, convolved, CONVOLUTIONS,
             ODD_CONVOLUTIONS, flops=lambda d: window_flops(d, d["c"]), types=types[:1], checked_types=types, schedule=schedule)


def convolve_int8(x, weight, weight_scale, x_scale):
    y = functional().conv2d(x[:, :, :, 0].permute(0, 3, 1, 2).double(), weight.double(), padding=1)
    return (y.permute(0, 2, 3, 1) * weight_scale[0] * x_scale)[:, :, :, None]


def convolve_int8_packed(x, weight_packed, weight_scale, x_scale):
    return convolve_int8(x, unpacked(weight_packed, weight_scale.shape[1], x.shape[-1]), weight_scale, x_scale)


def convolve_int8_ohwi(x, weight_ohwi, weight_scale, x_scale):
    return convolve_int8(x, weight_ohwi[0].permute(0, 3, 1, 2), weight_scale, x_scale)


INT8_CONVOLUTIONS = [CONVOLUTIONS[0], dict(n=32, h=28, w=28, c=128, o=128), CONVOLUTIONS[1]]
case("conv2d_int8", "", {}, lambda d: {"x": ((d["n"], d["h"], d["w"], 1, d["c"]), "uint8"), "weight_ohwi": ((1, d["o"], 3, 3, d["c"]), "int8"),
                                       "weight_scale": ((1, d["o"]), "float32")},
     convolve_int8_ohwi, convolved, INT8_CONVOLUTIONS, ODD_TENSOR_CONVOLUTIONS, scalars={"x_scale": 0.02},
     flops=lambda d: window_flops(d, d["c"]), checked_types=("float32", "bfloat16"))
for schedule in ("dp4a", "unfused"):
    case("conv2d_int8", schedule, {}, lambda d: {"x": ((d["n"], d["h"], d["w"], 1, d["c"]), "uint8"),
                                                 "weight_packed": ((1, -(-d["o"] // PANEL), 3, 3, -(-d["c"] // 4), PANEL, 4), "int8"),
                                                 "weight_scale": ((1, d["o"]), "float32")},
         convolve_int8_packed, convolved, INT8_CONVOLUTIONS, ODD_CONVOLUTIONS, scalars={"x_scale": 0.02}, flops=lambda d: window_flops(d, d["c"]),
         types=("float32",), checked_types=("float32", "bfloat16"), schedule=schedule)


def depthwise_int8(x, weight, weight_scale, x_scale):
    y = functional().conv2d(x.permute(0, 3, 1, 2).double(), weight.permute(2, 0, 1).unsqueeze(1).double(), padding=1, groups=weight.shape[-1])
    return y.permute(0, 2, 3, 1) * weight_scale * x_scale


for schedule in ("", "unfused"):
    case("depthwise_conv2d_int8", schedule, {}, lambda d: {"x": ((d["n"], d["h"], d["w"], d["c"]), "uint8"), "weight": ((3, 3, d["c"]), "int8"),
                                                           "weight_scale": ((d["c"],), "float32")},
         depthwise_int8, lambda d: {"y": (d["n"], d["h"], d["w"], d["c"])}, [dict(n=32, h=56, w=56, c=128)],
         [dict(n=1, h=1, w=1, c=1), dict(n=2, h=7, w=13, c=70), dict(n=1, h=9, w=3, c=32)], scalars={"x_scale": 0.02},
         flops=lambda d: 18.0 * d["n"] * d["h"] * d["w"] * d["c"], types=("float32",), checked_types=("float32", "bfloat16"), schedule=schedule)


def attention_tensors(d):
    return {"q": ((d["n"], d["h"], d["s"], d["d"]), "type"), **{x: ((d["n"], d["hk"], d["keys"], d["d"]), "type") for x in ("k", "v")}}


def attention_flops(part):
    return lambda d: part * 4.0 * d["n"] * d["h"] * d["s"] * d["keys"] * d["d"]


def attend(causal):
    """cuDNN where torch has it for these sizes, else what torch chooses."""
    def call(q, k, v, scale, backend=None):
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
        grouped = q.shape[1] != k.shape[1]
        if q.dtype == torch.float64:  # a reference; the mask is aligned to the last key
            k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
            scores = q @ k.transpose(-1, -2) * scale
            if causal:
                ones = scores.new_ones(scores.shape[-2:]).bool()
                scores = scores.masked_fill(~ones.tril(scores.shape[-1] - scores.shape[-2]), float("-inf"))
            return scores.softmax(-1).nan_to_num(0) @ v
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return functional().scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=grouped)
    return call


def attended(d):
    return {"out": (d["n"], d["h"], d["s"], d["d"])}


ATTENTION = {128: [dict(n=4, h=32, hk=32, s=4096, keys=4096, d=128)], 64: [dict(n=8, h=32, hk=32, s=2048, keys=2048, d=64)]}
ATTENTION_GROUPED = dict(n=4, h=32, hk=8, s=4096, keys=4096, d=128)
for causal in (False, True):
    for d in (128, 64):
        call = attend(causal)
        case("attention", ("causal " if causal else "") + f"d{d}", {"causal": str(causal).lower()}, attention_tensors, call, attended,
             ATTENTION[d] + ([ATTENTION_GROUPED] if causal and d == 128 else []),
             [dict(n=2, h=2, hk=1, s=1, keys=300, d=d), dict(n=1, h=4, hk=2, s=130, keys=130, d=d), dict(n=2, h=3, hk=3, s=257, keys=400, d=d)],
             scalars={"scale": d ** -0.5}, settings={"head_dim": d, **({"ping_pong": "true"} if d == 64 else {})},
             also=[("64 keys", dict(settings=dict(head_dim=128, key_block=64), checked_types=()))] if d == 128 else  # for sm_80
                  [("192 queries", dict(settings=dict(head_dim=64, query_block=192, stages=3, ping_pong="true"), checked_types=()))],
             flops=attention_flops(0.5 if causal else 1.0), checked_types=("float16", "bfloat16"),
             peers={**{name: lambda q, k, v, scale, call=call, b=backend: call(q, k, v, scale, b)
                       for name, backend in (("cuDNN", "CUDNN_ATTENTION"), ("FlashAttention-2", "FLASH_ATTENTION"))},
                    "Triton": lambda q, k, v, scale, causal=causal: triton_tiles().attention(q, k, v, scale, causal)})
# One query a head over a long cache.

def attend(q, k, v, scale, lengths=None):
    import torch
    mask = None if lengths is None else (torch.arange(k.shape[2], device=q.device) < lengths[:, None])[:, None, None]
    y = functional().scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=True)
    return y if lengths is None else y * (lengths > 0)[:, None, None, None].to(y.dtype)


def heads(d):
    cache = (d["batch"], d["key_heads"], d["keys"], d["d"])
    return {"q": ((d["batch"], d["heads"], d["queries"], d["d"]), "type"), "k": (cache, "type"), "v": (cache, "type")}


def attended(d):
    return {"out": (d["batch"], d["heads"], d["queries"], d["d"])}


def head_scale(d):
    return {"scale": d["d"] ** -0.5}


CACHES = [dict(batch=64, heads=32, key_heads=8, queries=1, keys=8192, d=128), dict(batch=1, heads=32, key_heads=8, queries=1, keys=65536, d=128)]
ODD_CACHES = [dict(batch=1, heads=1, key_heads=1, queries=1, keys=1, d=8), dict(batch=2, heads=6, key_heads=2, queries=3, keys=1100, d=80),
              dict(batch=3, heads=4, key_heads=4, queries=1, keys=777, d=64), dict(batch=1, heads=8, key_heads=1, queries=1, keys=513, d=33)]
ODD_CACHES_OF_128 = [dict(batch=2, heads=8, key_heads=2, queries=1, keys=1100, d=128),
                     dict(batch=1, heads=10, key_heads=2, queries=1, keys=5000, d=128),
                     dict(batch=3, heads=4, key_heads=4, queries=1, keys=17, d=128), dict(batch=1, heads=6, key_heads=6, queries=1, keys=4097, d=128)]
case("decode_attention", "", {"padded": "false"}, heads, attend, attended, CACHES, ODD_CACHES, peers={"torch": attend}, sizes=head_scale,
     also=[("heads of 128", dict(settings={"head_dim": 128}, checked_types=(),
                                 checked=[dict(batch=2, heads=8, key_heads=2, queries=1, keys=1100, d=128),
                                          dict(batch=1, heads=6, key_heads=2, queries=3, keys=700, d=128)])),
           ("tensor cores", dict(settings={"head_dim": 128}, schedule="mma", checked_types=("float16", "bfloat16"),
                                 checked=ODD_CACHES_OF_128)),
           ("tensor cores, splits of 4096", dict(settings={"head_dim": 128, "ahead": 2, "split_keys": 4096}, schedule="mma", checked_types=(),
                                                 checked=ODD_CACHES_OF_128))])
case("decode_attention", "lengths", {}, lambda d: {**heads(d), "lengths": ((d["batch"],), "lengths")}, attend, attended, [], ODD_CACHES,
     sizes=head_scale, also=[("tensor cores", dict(settings={"head_dim": 128, "split_keys": 512}, schedule="mma",
                                                            checked_types=("float16", "bfloat16"), checked=ODD_CACHES_OF_128))])

PROMPTS = [dict(batch=4, heads=32, key_heads=32, queries=1024, keys=1024, d=128)]
ODD_PROMPTS = [dict(batch=1, heads=1, key_heads=1, queries=1, keys=1, d=8), dict(batch=2, heads=4, key_heads=2, queries=70, keys=150, d=64),
               dict(batch=1, heads=2, key_heads=1, queries=129, keys=257, d=33)]
case("attention", "unfused", {}, heads, attend, attended, PROMPTS, ODD_PROMPTS, peers={"torch": attend}, schedule="unfused", sizes=head_scale,
     flops=lambda d: 4.0 * d["batch"] * d["heads"] * d["queries"] * d["keys"] * d["d"])


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


# Reductions of products.

VOCABULARY = [dict(m=2048, n=32768, k=1024)]
LARGE_VOCABULARY = [dict(m=8192, n=128256, k=4096)]
ODD_VOCABULARY = [dict(m=1, n=1, k=1), dict(m=130, n=264, k=72), dict(m=65, n=1000, k=33)]


def projected(d):
    return {"x": ((d["m"], d["k"]), "type"), **weight(d, "w_nk")}


def all_columns(d):
    return {"columns": d["n"]}


def log_sum(x, w_nk):
    return (x @ w_nk.T).logsumexp(-1)


def linear_cross_entropy(x, w_nk, labels, **_):
    logits = x @ w_nk.T
    return functional().cross_entropy(logits.float(), labels.long(), reduction="none"), logits.float().logsumexp(-1)


def largest(x, w_nk):  # of equal logits, the columns may differ
    return (x @ w_nk.T).topk(8).values


def routed(x, w_nk):
    return (x @ w_nk.T).topk(8).values.float().softmax(-1)


def labelled(d):
    return {**projected(d), "labels": ((d["m"],), "columns")}


# On the tensor cores, and in full float32.
for schedule, types in (("", ("bfloat16",)), ("simt", ("float32",)), ("unfused", ("float32",))):
    of_schedule = dict(schedule=schedule, types=types, flops=multiply_flops, sizes=all_columns,
                       checked_types=("float16", "bfloat16") if not schedule else ("float32", "float16", "bfloat16"))
    case("gemm_reduce", schedule, {}, projected, log_sum, lambda d: {"y": (d["m"],)}, VOCABULARY, ODD_VOCABULARY,
         peers={"torch": log_sum} if schedule != "unfused" else {}, **of_schedule)
    case("linear_cross_entropy", schedule, {}, labelled, linear_cross_entropy, lambda d: {"loss": (d["m"],), "lse": (d["m"],)},
         VOCABULARY if schedule else VOCABULARY + LARGE_VOCABULARY, ODD_VOCABULARY, scalars={"ignore_index": -100},
         peers={"torch": linear_cross_entropy} if schedule != "unfused" else {}, **of_schedule)


def splade(x, w_nk, bias, lengths):
    import torch
    counts = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return (x @ w_nk.T + bias).relu().log1p().masked_fill(~counts[..., None], 0).amax(1)


def splade_of_maxima(x, w_nk, bias, lengths):
    import torch
    counts = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return ((x @ w_nk.T).masked_fill(~counts[..., None], -torch.inf).amax(1) + bias).relu().log1p()


for schedule, types in (("", ("bfloat16",)), ("simt", ("float32",))):
    case("splade", schedule, {"weights": "nk"},
         lambda d: {"x": ((d["batch"], d["keys"], d["k"]), "type"), **weight(d, "w_nk"), "bias": ((d["n"],), "type"),
                    "lengths": ((d["batch"],), "lengths")},
         splade, lambda d: {"y": (d["batch"], d["n"])}, [dict(batch=32, keys=n, k=768, n=30522) for n in (128, 64)],
         [dict(batch=3, keys=37, k=72, n=300), dict(batch=1, keys=1, k=1, n=1), dict(batch=2, keys=200, k=129, n=515)],
         sizes=lambda d: {"positions": d["keys"]}, peers={"torch": splade, "maxima first": splade_of_maxima}, types=types,
         checked_types=("float16", "bfloat16") if not schedule else ("float32", "float16", "bfloat16"),
         flops=lambda d: 2.0 * d["batch"] * d["keys"] * d["k"] * d["n"], schedule=schedule)
case("gemm_reduce", "max", {"reduction": "max"}, projected, lambda x, w_nk: (x @ w_nk.T).max(-1).values, lambda d: {"y": (d["m"],)},
     VOCABULARY, ODD_VOCABULARY, peers={"torch": lambda x, w_nk: (x @ w_nk.T).max(-1).values}, checked_types=("float16", "bfloat16"),
     flops=multiply_flops, sizes=all_columns)

CHOSEN = [dict(m=130, n=264, k=72), dict(m=65, n=1000, k=33), dict(m=1, n=8, k=1)]
ROUTED = [dict(m=16384, n=256, k=4096)]
TOKENS = [dict(m=8200, n=n, k=24) for n in (8, 66, 130)] + [dict(m=2000, n=256, k=72)]
FEW_ROUTED = [dict(m=m, n=256, k=7168) for m in (16, 256)]
for schedule, types, sizes in (("", ("bfloat16",), ROUTED + FEW_ROUTED), ("simt", ("float32",), ROUTED)):
    case("moe_router", schedule, {"top_k": "8"}, projected, routed, lambda d: {"scores": (d["m"], 8), "indices": (d["m"], 8)},
         sizes, CHOSEN if schedule else CHOSEN + TOKENS, peers={"torch": routed}, types=types, flops=multiply_flops, sizes=lambda d: {"experts": d["n"]}, schedule=schedule,
         checked_types=("float32", "float16", "bfloat16") if schedule == "simt" else ("float16", "bfloat16"))
for schedule, types in (("", ("bfloat16",)), ("simt", ("float32",))):
    of_schedule = dict(schedule=schedule, types=types, flops=multiply_flops,
                       checked_types=("float16", "bfloat16") if not schedule else ("float32", "float16", "bfloat16"))
    case("gemm_top_k", schedule, {"top_k": "8"}, projected, largest, lambda d: {"values": (d["m"], 8), "indices": (d["m"], 8)},
         VOCABULARY, CHOSEN, peers={"torch": largest}, sizes=all_columns, **of_schedule)

from . import experts, float8, quantized_weights  # noqa: E402, F401 (they add cases)

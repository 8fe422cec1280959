"""Cases of images: norms of channels, transposes, convolutions. Channels innermost is torch's channels_last, seen as it lies in memory."""

from .table import case, functional


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

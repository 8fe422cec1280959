"""Convolutions, channels innermost: torch's channels_last. oneDNN also in the blocked order that it likes
best, without the time to get there and back."""

from .. import onednn
from ..entry import op
from ..frameworks import F, torch
from .weights import convolution, pack_filter_into

FAMILY = "convolution"
RELU = [("eltwise", onednn.RELU)]


def image(x):
    """[n, h, w, groups, c] or [n, h, w, c] as [n, groups * c, h, w], where it lies."""
    return x.flatten(3).permute(0, 3, 1, 2)


def prepare(v):
    return {"image": image(v["x"]), "w": convolution(v, v["o"], v["c"], int(v["kernel"]), v["groups"]),
            "shift": v["bias"].flatten() if "bias" in v else None}


def onednn_convolution(blocked):
    return lambda image, w, shift, kernel, groups: onednn.convolution(
        image, w, shift, padding=int(kernel) // 2, groups=groups, post=RELU, blocked=blocked)


def torch_convolution(image, w, shift, kernel, groups):
    return F.relu(F.conv2d(image, w, shift, padding=int(kernel) // 2, groups=groups))


SIZES = ["c=64,o=64,w=56,h=56,groups=1,n=1", "c=128,o=128,w=28,h=28,groups=1,n=1", "c=512,o=512,w=7,h=7,groups=1,n=1"]
GROUPED = ["c=4,o=4,w=56,h=56,groups=32,n=1"]


def whole(type, amx):
    return ("", "mma") if amx and type in ("bf16", "int8") else ("",)


for label, kernel, shapes, schedules in (("3x3 bias ReLU", 3, SIZES, whole),
                                         ("3x3 bias ReLU, groups", 3, GROUPED, ("grouped",)),
                                         ("1x1 bias ReLU", 1, SIZES[:2], whole)):
    op("conv2d", label=label, family=FAMILY, constants="w shift", shapes=shapes, schedules=schedules,
       params={"add_bias": "true", "activation": "relu", "kernel": kernel, "padding": kernel // 2}, prepare=prepare,
       flops=lambda n, groups, o, c, h, w, taps=kernel * kernel: 2 * n * groups * o * c * taps * h * w,
       results=lambda y: image(y), torch=torch_convolution, onednn=onednn_convolution(False),
       native={"oneDNN blocked": onednn_convolution(True)})


# Peers have the scale of a BatchNorm in their weights, as it is the same at every call.
def folded(v):
    operands = prepare(v)
    return {**operands, "w": operands["w"] * v["scale"].flatten()[:, None, None, None].to(operands["w"].dtype)}


op("conv2d", label="3x3 BatchNorm ReLU", family=FAMILY, constants="w shift", shapes=SIZES[:2], schedules=whole,
   params={"add_scale": "true", "add_bias": "true", "activation": "relu", "kernel": 3, "padding": 1}, prepare=folded,
   flops=lambda n, groups, o, c, h, w: 2 * n * groups * o * c * 9 * h * w, results=lambda y: image(y), torch=torch_convolution,
   onednn=onednn_convolution(False), native={"oneDNN blocked": onednn_convolution(True)})


def pack_for_torch(w, v, x, around, groups):
    try:
        return torch.ops.onednn.qconv_prepack(w, v["weight_scale"].flatten(), v["x_scale"], int(v["x_zero_point"]),
                                              [1, 1], around, [1, 1], groups, list(x.shape))
    except Exception:  # this build of torch has no oneDNN; its call will say so
        return None


def operands_int8(v, w, groups):
    x, around = image(v["x"]), [int(v["kernel"]) // 2] * 2
    return {"image": x, "w": w, "scales": v["weight_scale"].flatten(), "shift": v["bias"].flatten(),
            "packed": pack_for_torch(w, v, x, around, groups), "around": around, "groups": groups,
            "zeros": torch.zeros(w.shape[0], dtype=torch.int8)}


def prepare_int8(v):
    generator = torch.Generator().manual_seed(7)
    kernel, groups = int(v["kernel"]), v["groups"]
    w = torch.randint(-100, 100, (groups * v["o"], v["c"], kernel, kernel), generator=generator).to(torch.int8)
    pack_filter_into(v["weight_packed"], w, groups)
    v["weight_sum"].copy_(w.sum((1, 2, 3), dtype=torch.int32).view(groups, -1))
    v["weight_scale"].copy_((torch.rand(len(w), generator=generator) + 1).view(groups, -1) * 1e-2 / (v["c"] * kernel))
    return operands_int8(v, w, groups)


def torch_int8(image, packed, shift, scales, zeros, x_scale, x_zero_point, y_scale, y_zero_point, around, groups):
    return torch.ops.onednn.qconv2d_pointwise(
        image, x_scale, int(x_zero_point), packed, scales, zeros, shift, [1, 1], around, [1, 1], groups, y_scale,
        int(y_zero_point), torch.uint8, "relu", [], "")


def onednn_int8(image, w, shift, scales, x_scale, x_zero_point, y_scale, y_zero_point, around, groups):
    return onednn.quantised_convolution(image, w, x_scale, int(x_zero_point), scales, y_scale, int(y_zero_point),
                                        shift, padding=around[0], groups=groups, post=RELU)


WIDENING = ["c=64,o=256,w=56,h=56,groups=1,n=1", SIZES[1]]

for label, kernel, shapes, schedules in (("3x3 bias ReLU", 3, SIZES, whole),
                                         ("3x3 bias ReLU, groups", 3, GROUPED, ("grouped",)),
                                         ("1x1 bias ReLU", 1, WIDENING, whole)):
    op("conv2d_int8", label=label, family=FAMILY, types="int8", constants="w shift scales", shapes=shapes, schedules=schedules,
       params={"add_bias": "true", "activation": "relu", "zero_point": "true", "output": "uint8", "kernel": kernel,
               "padding": kernel // 2}, prepare=prepare_int8,
       flops=lambda n, groups, o, c, h, w, taps=kernel * kernel: 2 * n * groups * o * c * taps * h * w,
       results=lambda y: image(y), onnx=None, onednn=onednn_int8, more={"torch qconv": torch_int8})


def depthwise(v):
    return {"image": image(v["x"]), "w": v["weight"].permute(2, 0, 1).unsqueeze(1).contiguous()}


op("depthwise_conv2d", label="3x3 bias ReLU", family=FAMILY, constants="w bias",
   shapes=["c=32,w=112,h=112,n=1", "c=128,w=56,h=56,n=1"], params={"add_bias": "true", "activation": "relu"},
   flops=lambda n, c, h, w: 2 * n * c * 9 * h * w, prepare=depthwise, results=lambda y: image(y),
   torch=lambda image, w, bias, c: F.relu(F.conv2d(image, w, bias, padding=1, groups=c)),
   onednn=lambda image, w, bias, c: onednn.convolution(image, w, bias, padding=1, groups=c, post=RELU),
   native={"oneDNN blocked": lambda image, w, bias, c: onednn.convolution(
       image, w, bias, padding=1, groups=c, post=RELU, blocked=True)})


def depthwise_int8(v):
    generator = torch.Generator().manual_seed(7)
    v["weight_scale"].copy_((torch.rand(v["c"], generator=generator) + 1) * 1e-2 / 3)
    return operands_int8(v, v["weight"].permute(2, 0, 1).unsqueeze(1).contiguous(), v["c"])


op("depthwise_conv2d_int8", label="3x3 bias ReLU", family=FAMILY, types="int8", constants="w shift scales",
   shapes=["c=32,w=112,h=112,n=1", "c=128,w=56,h=56,n=1"],
   params={"add_bias": "true", "activation": "relu", "zero_point": "true", "output": "uint8", "kernel": 3},
   flops=lambda n, c, h, w: 2 * n * c * 9 * h * w, prepare=depthwise_int8, results=lambda y: image(y), onnx=None,
   onednn=onednn_int8, more={"torch qconv": torch_int8})

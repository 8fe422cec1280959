"""Convolutions, channels innermost: torch's channels_last. oneDNN also in the blocked order that it likes
best, without the time to get there and back."""

from .. import onednn
from ..entry import op
from ..frameworks import F
from .weights import convolution

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

for label, kernel, shapes in (("3x3 bias ReLU", 3, SIZES + GROUPED), ("1x1 bias ReLU", 1, SIZES[:2])):
    op("conv2d", label=label, family=FAMILY, constants="w shift", shapes=shapes,
       params={"add_bias": "true", "activation": "relu", "kernel": kernel, "padding": kernel // 2}, prepare=prepare,
       flops=lambda n, groups, o, c, h, w, taps=kernel * kernel: 2 * n * groups * o * c * taps * h * w,
       results=lambda y: image(y), torch=torch_convolution, onednn=onednn_convolution(False),
       native={"oneDNN blocked": onednn_convolution(True)})


def depthwise(v):
    return {"image": image(v["x"]), "w": v["weight"].permute(2, 0, 1).unsqueeze(1).contiguous()}


op("depthwise_conv2d", label="3x3 bias ReLU", family=FAMILY, constants="w bias",
   shapes=["c=32,w=112,h=112,n=1", "c=128,w=56,h=56,n=1"], params={"add_bias": "true", "activation": "relu"},
   flops=lambda n, c, h, w: 2 * n * c * 9 * h * w, prepare=depthwise, results=lambda y: image(y),
   torch=lambda image, w, bias, c: F.relu(F.conv2d(image, w, bias, padding=1, groups=c)),
   onednn=lambda image, w, bias, c: onednn.convolution(image, w, bias, padding=1, groups=c, post=RELU),
   native={"oneDNN blocked": lambda image, w, bias, c: onednn.convolution(
       image, w, bias, padding=1, groups=c, post=RELU, blocked=True)})

"""Convolutions, channels innermost: torch's channels_last."""

from .. import onednn
from ..entry import op
from ..frameworks import F
from .weights import convolution

FAMILY = "convolution"
RELU = [("eltwise", onednn.RELU)]


def image(x):
    """[n, h, w, groups, c] or [n, h, w, c] as [n, groups * c, h, w], where it lies."""
    return x.flatten(3).permute(0, 3, 1, 2)


def sizes(v):
    return {"image": image(v["x"]), "w": convolution(v, v["k"], v["c"], int(v["kernel"]), v["groups"]),
            "shift": v["bias"].flatten() if "bias" in v else None}


SIZES = ["c=64,k=64,w=56,h=56,groups=1,n=1", "c=128,k=128,w=28,h=28,groups=1,n=1", "c=512,k=512,w=7,h=7,groups=1,n=1"]

op("conv2d", label="bias ReLU", family=FAMILY, constants="w shift", shapes=SIZES,
   params={"add_bias": "true", "activation": "relu"}, prepare=sizes,
   results=lambda y: y.flatten(3).permute(0, 3, 1, 2),
   torch=lambda image, w, shift, padding, groups: F.relu(F.conv2d(image, w, shift, padding=int(padding), groups=groups)),
   onednn=lambda image, w, shift, padding, groups: onednn.convolution(
       image, w, shift, padding=int(padding), groups=groups, post=RELU))

op("conv2d", label="1x1 bias ReLU", family=FAMILY, constants="w shift", shapes=SIZES[:2],
   params={"add_bias": "true", "activation": "relu", "kernel": 1, "padding": 0}, prepare=sizes,
   results=lambda y: y.flatten(3).permute(0, 3, 1, 2),
   torch=lambda image, w, shift, groups: F.relu(F.conv2d(image, w, shift, groups=groups)),
   onednn=lambda image, w, shift, groups: onednn.convolution(image, w, shift, groups=groups, post=RELU))

op("depthwise_conv2d", label="bias ReLU", family=FAMILY, constants="w bias",
   shapes=["c=32,w=112,h=112,n=1", "c=128,w=56,h=56,n=1"], params={"add_bias": "true", "activation": "relu"},
   prepare=lambda v: {"image": image(v["x"]), "w": v["weight"].permute(2, 0, 1).unsqueeze(1).contiguous()},
   results=lambda y: y.permute(0, 3, 1, 2),
   torch=lambda image, w, bias, c, padding: F.relu(F.conv2d(image, w, bias, padding=int(padding), groups=c)),
   onednn=lambda image, w, bias, c, padding: onednn.convolution(
       image, w, bias, padding=int(padding), groups=c, post=RELU))

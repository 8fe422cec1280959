"""Norms: bound by memory, in cache and out of it."""

from .. import onednn
from ..entry import nodes, op
from ..frameworks import F

FAMILY = "norms"
SIZES = ["rows=64,cols=4096", "rows=16384,cols=4096"]

op("rms_norm", family=FAMILY, shapes=SIZES, constants="weight", cold=True,
   torch=lambda x, weight, eps: F.rms_norm(x, weight.shape, weight, eps),
   onnx=lambda eps: nodes(("SimplifiedLayerNormalization", ["x", "weight"], ["result0"],
                           {"axis": -1, "epsilon": eps})))


def residual_rms_norm(x, residual, weight, eps):
    total = x + residual
    return F.rms_norm(total, weight.shape, weight, eps), total


op("rms_norm", label="residual", family=FAMILY, shapes=SIZES, constants="weight", cold=True,
   params={"add_residual": "true"}, torch=residual_rms_norm,
   onnx=lambda eps: nodes(("SkipSimplifiedLayerNormalization", ["x", "residual", "weight"],
                           ["result0", "", "", "result1"], {"epsilon": eps}, "com.microsoft")))

op("layer_norm", family=FAMILY, shapes=[*SIZES, "rows=1024,cols=384"], constants="weight bias", cold=True,
   torch=lambda x, weight, bias, eps: F.layer_norm(x, weight.shape, weight, bias, eps),
   onednn=onednn.layer_norm)

op("layer_norm", label="one pass", family=FAMILY, shapes=SIZES, constants="weight bias", cold=True,
   settings={"statistics": "one_pass"},
   torch=lambda x, weight, bias, eps: F.layer_norm(x, weight.shape, weight, bias, eps))


op("layer_norm", label="residual", family=FAMILY, shapes=SIZES, constants="weight bias", cold=True,
   params={"add_residual": "true"},
   torch=lambda x, residual, weight, bias, eps: residual_layer_norm(x, residual, weight, bias, eps),
   onnx=lambda eps: nodes(("SkipLayerNormalization", ["x", "residual", "weight", "bias"],
                           ["result0", "", "", "result1"], {"epsilon": eps}, "com.microsoft")))


def residual_layer_norm(x, residual, weight, bias, eps):
    total = x + residual
    return F.layer_norm(total, weight.shape, weight, bias, eps), total


def positive_variance(v):
    v["variance"].abs_().add_(0.1)
    return {}


IMAGES = ["w=56,h=56,c=64,n=1", "w=56,h=56,c=256,n=8"]

op("batch_norm", label="ReLU", family=FAMILY, shapes=IMAGES, constants="mean variance weight bias", cold=True,
   params={"activation": "relu"}, prepare=positive_variance,
   torch=lambda x, mean, variance, weight, bias, eps: F.relu(
       F.batch_norm(x, mean, variance, weight, bias, False, 0.0, eps)),
   onednn=lambda x, mean, variance, weight, bias, eps: onednn.batch_norm(x, mean, variance, weight, bias, eps, True))

op("group_norm", family=FAMILY, shapes=["w=64,h=64,c=320,g=32,n=1", "w=64,h=64,c=320,g=32,n=8"],
   constants="weight bias", cold=True,
   torch=lambda x, weight, bias, g, eps: F.group_norm(x, g, weight, bias, eps))

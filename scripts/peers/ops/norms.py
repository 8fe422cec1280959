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

op("layer_norm", family=FAMILY, shapes=[*SIZES, "rows=1024,cols=384"], constants="weight bias", cold=True,
   torch=lambda x, weight, bias, eps: F.layer_norm(x, weight.shape, weight, bias, eps),
   onednn=onednn.layer_norm)

op("layer_norm", label="one pass", family=FAMILY, shapes=SIZES, constants="weight bias", cold=True,
   settings={"statistics": "one_pass"},
   torch=lambda x, weight, bias, eps: F.layer_norm(x, weight.shape, weight, bias, eps))

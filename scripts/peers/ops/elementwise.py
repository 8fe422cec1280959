"""Elementwise chains and transposition: bound by memory."""

from .. import onednn
from ..entry import nodes, op
from ..frameworks import F, torch

FAMILY = "elementwise"
SIZES = ["rows=256,cols=1024", "rows=16384,cols=1024"]

op("bias_activation", label="ReLU", family=FAMILY, shapes=SIZES, constants="bias", cold=True,
   torch=lambda x, bias: F.relu(x + bias),
   onednn=lambda x, bias: onednn.add_then(x, bias, [("eltwise", onednn.RELU)]))

op("bias_activation", label="GELU", family=FAMILY, shapes=SIZES, constants="bias", cold=True,
   params={"activation": "gelu_erf"},
   torch=lambda x, bias: F.gelu(x + bias),
   onednn=lambda x, bias: onednn.add_then(x, bias, [("eltwise", onednn.GELU_ERF)]))

op("bias_activation", label="log ReLU", family=FAMILY, shapes=SIZES, constants="bias", cold=True,
   params={"activation": "log_relu"},
   torch=lambda x, bias: torch.log(F.relu(x + bias)))

op("bias_activation", label="GELU alone", family=FAMILY, shapes=SIZES, cold=True,
   params={"add_bias": "false", "activation": "gelu_erf"}, torch=lambda x: F.gelu(x),
   onnx=lambda: nodes(("Gelu", ["x"], ["result0"], {})), onednn=lambda x: onednn.eltwise(x, onednn.GELU_ERF))

MATRICES = ["rows=512,cols=512,batch=1", "rows=4096,cols=4096,batch=1", "rows=197,cols=768,batch=8"]

op("transpose", family=FAMILY, shapes=MATRICES, cold=True,
   torch=lambda x: x.transpose(1, 2).contiguous())

op("transpose", label="bias ReLU", family=FAMILY, shapes=MATRICES, cold=True, constants="bias",
   params={"add_bias": "before", "activation": "relu"},
   torch=lambda x, bias: F.relu(x + bias).transpose(1, 2).contiguous())

"""Softmax and the losses on it."""

from .. import onednn
from ..entry import nodes, op
from ..frameworks import torch

FAMILY = "softmax and losses"
SIZES = ["rows=64,cols=4096", "rows=16384,cols=4096"]

op("softmax", family=FAMILY, shapes=SIZES, cold=True,
   torch=lambda x: torch.softmax(x, -1),
   onnx=lambda: nodes(("Softmax", ["x"], ["result0"], {"axis": -1})),
   onednn=lambda x: onednn.softmax(x))

op("softmax", label="scaled, masked", family=FAMILY, shapes=SIZES, cold=True,
   params={"scaled": "true", "masked": "true"},
   torch=lambda x, mask, scale: torch.softmax(x * scale + mask, -1))

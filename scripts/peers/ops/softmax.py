"""Softmax and the losses on it."""

from .. import onednn
from ..entry import nodes, op
from ..frameworks import F, torch

FAMILY = "softmax and losses"
SIZES = ["rows=64,cols=4096", "rows=16384,cols=4096"]

op("softmax", family=FAMILY, shapes=SIZES, cold=True,
   torch=lambda x: torch.softmax(x, -1),
   onnx=lambda: nodes(("Softmax", ["x"], ["result0"], {"axis": -1})),
   onednn=lambda x: onednn.softmax(x))

op("softmax", label="scaled, masked", family=FAMILY, shapes=SIZES, cold=True,
   params={"scaled": "true", "masked": "true"},
   torch=lambda x, mask, scale: torch.softmax(x * scale + mask, -1))



def limit(v):
    return {"limit": torch.full((v["rows"], v["cols"]), float("-inf")).triu(1 + v["cols"] - v["rows"]).to(v["dtype"])}


op("softmax", label="causal", family=FAMILY, shapes=["rows=4096,cols=4096"], params={"causal": "true"}, prepare=limit,
   torch=lambda x, limit: torch.softmax(x + limit, -1))

op("softmax", label="log", family=FAMILY, shapes=SIZES, cold=True, params={"log": "true"},
   torch=lambda x: torch.log_softmax(x, -1),
   onnx=lambda: nodes(("LogSoftmax", ["x"], ["result0"], {"axis": -1})),
   onednn=lambda x: onednn.softmax(x, log=True))

op("cross_entropy", family=FAMILY, shapes=["rows=64,cols=32000", ("rows=512,cols=128256", "f32 bf16")], cold=True,
   torch=lambda logits, labels: F.cross_entropy(logits.float(), labels.long(), reduction="none"))

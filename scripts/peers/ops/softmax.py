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


def asked(v):
    """What servers ask for: some of the most likely tokens, at a temperature. Logits are as wide apart as those of text."""
    v["logits"].mul_(6)
    v["temperature"].fill_(0.8)
    v["top_k"].fill_(50)
    v["top_p"].fill_(0.95)
    v["min_p"].fill_(0.02)
    return {}


def sampled(logits, uniform, temperature, top_k, top_p, min_p):
    """min-p, top-k, top-p, then the token at a share of what is left, in the order of the vocabulary."""
    x = logits.float() / temperature[:, None]
    x = x.masked_fill(x < x.amax(-1, keepdim=True) + min_p.log()[:, None], float("-inf"))
    values, tokens = x.sort(dim=-1, descending=True, stable=True)
    place = torch.arange(x.shape[-1], device=x.device)
    values = values.masked_fill(place >= top_k[:, None], float("-inf"))
    weights = torch.softmax(values, -1)
    weights = weights.masked_fill(weights.cumsum(-1) - weights >= top_p[:, None], 0)
    weights = torch.zeros_like(weights).scatter_(-1, tokens, weights)
    shares = weights.cumsum(-1)
    return torch.searchsorted(shares, (uniform[:, None] * shares[:, -1:]).contiguous(), right=True)[:, 0].int()


op("sample", family=FAMILY, shapes=["rows=64,vocab=32000", "rows=64,vocab=128256"], cold=True, prepare=asked, onnx=None, torch=sampled)

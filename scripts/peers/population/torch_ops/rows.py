"""Ops on rows."""

import math

from .common import Meaning, activate, functional, on


def matrix(d, **more):
    return {"x": ((d["rows"], d["cols"]), "type"), **{n: ((d["cols"],) if what == "cols" else (d["rows"], d["cols"]), "type") for n, what in more.items()}}


def norm(case, bias):
    d, residual = case.dims, on(case.params, "add_residual")
    both = (d["rows"], d["cols"])

    def function(v):
        x = v.x + v.residual if residual else v.x
        y = functional().layer_norm(x, x.shape[-1:], v.weight, v.bias, v.eps) if bias else functional().rms_norm(x, x.shape[-1:], v.weight, v.eps)
        return (y, x) if residual else y
    return Meaning(matrix(d, **({"residual": "both"} if residual else {}), weight="cols", **({"bias": "cols"} if bias else {})),
                   {"y": both, **({"residual_out": both} if residual else {})}, function, {"eps": 1e-5 if bias else 1e-6}, by_row=("x", "residual"))


def softmax(case):
    d, p = case.dims, case.params

    def function(v):
        import torch
        x = v.x * v.scale if on(p, "scaled") else v.x
        x = x + v.mask if on(p, "masked") else x
        if on(p, "causal"):
            last = v.rows_at if hasattr(v, "rows_at") else torch.arange(d["rows"], device=x.device)
            x = x.masked_fill(torch.arange(d["cols"], device=x.device) > last[:, None] + (d["cols"] - d["rows"]), -math.inf)
        return x.log_softmax(-1) if on(p, "log") else x.softmax(-1)
    return Meaning(matrix(d, **({"mask": "both"} if on(p, "masked") else {})), {"y": (d["rows"], d["cols"])}, function,
                   {"scale": 0.125} if on(p, "scaled") else {}, by_row=("x", "mask"))


def cross_entropy(case):
    d = case.dims
    return Meaning({"logits": ((d["rows"], d["cols"]), "type"), "labels": ((d["rows"],), ("below", d["cols"]))}, {"loss": (d["rows"],)},
                   lambda v: functional().cross_entropy(v.logits.float() if v.logits.element_size() < 4 else v.logits, v.labels.long(), reduction="none"),
                   {"ignore_index": -100}, by_row=("logits", "labels"))


def bias_activation(case):
    d, p = case.dims, case.params
    residual = on(p, "add_residual")
    return Meaning(matrix(d, bias="cols", **({"residual": "both"} if residual else {})), {"y": (d["rows"], d["cols"])},
                   lambda v: activate(v.x + v.bias, p["activation"]) + (v.residual if residual else 0), by_row=("x", "residual"))


def transpose(case):
    d = case.dims
    return Meaning({"x": ((d["batch"], d["rows"], d["cols"]), "type")}, {"y": (d["batch"], d["cols"], d["rows"])},
                   lambda v: v.x.transpose(1, 2).contiguous(), by_row=("x",))

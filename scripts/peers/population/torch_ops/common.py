"""What the meanings of ops share."""

import dataclasses
import typing


@dataclasses.dataclass
class Meaning:
    tensors: dict                   # name -> (extents, what): see peers/gpu/sweep_inputs.py
    outputs: dict                   # name -> extents
    function: typing.Callable       # of a namespace of tensors and scalars: one result or a tuple
    scalars: dict = dataclasses.field(default_factory=dict)
    more: dict = dataclasses.field(default_factory=dict)    # name -> function
    ahead: typing.Callable = None   # of the namespace: {name: tensor}, computed before the calls, as packed weights
    over: str = "row"               # what the reference takes a part of: rows, or the outermost extent
    by_row: tuple = ()              # tensors that have that extent
    compiled: bool = True           # whether a compiler can do more than torch does


def functional():
    import torch.nn.functional
    return torch.nn.functional


def activate(y, name):
    f = functional()
    return {"none": lambda: y, "": lambda: y, "relu": lambda: f.relu(y), "silu": lambda: f.silu(y), "gelu_erf": lambda: f.gelu(y),
            "gelu_tanh": lambda: f.gelu(y, approximate="tanh")}[name]()


def on(params, name):
    return params.get(name) == "true"


def linear(d, *names, n="n", k="k"):
    return {name: ((d[n], d[k]), "weights") for name in names}


def cat(*parts):
    import torch
    return torch.cat(parts)


def wide(logits):
    return logits.float() if logits.element_size() < 4 else logits


def dtype(case):
    import torch
    return getattr(torch, case.type)


def halves(v, *names):
    """The weights as bfloat16, which has all integers of 8 bits, for what has no product of 8 bits."""
    import torch
    return {name + "_half": getattr(v, name).to(torch.bfloat16) for name in names}

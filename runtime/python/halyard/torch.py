"""Ops as custom operators of torch, for torch.compile, torch.export and CUDA graphs.

    import halyard.torch
    norm = halyard.torch.op("rms_norm", type="bfloat16")   # torch.ops.halyard.rms_norm_type_bfloat16
    y = torch.compile(model_with_norm)(x)

An operator has no gradient: it is for inference, under torch.no_grad() or torch.inference_mode().
"""

import hashlib
import os
import re

import torch

from ._command import Error
from ._op import op as _op

_LIBRARY = torch.library.Library("halyard", "FRAGMENT")
_SCALARS = {"float": "float", "int": "SymInt", "uint": "SymInt", "bool": "bool"}
_known = {}  # the operators of this process by their names


def _name(name, request, params):
    """The same for the same request in every process, so that an exported program finds its operators again."""
    settings = {k: v for k, v in request.items() if v is not None}
    readable = "".join(f"_{k}_{v}" for k, v in sorted(params.items()))
    if schedule := settings.get("schedule"):
        file = os.fspath(schedule)
        if os.path.exists(file):  # by what it says, wherever it lies
            with open(file, encoding="utf-8") as f:
                settings["schedule"] = f.read()
    if settings:
        readable += "_" + hashlib.sha256(repr(sorted((k, str(v)) for k, v in settings.items())).encode()).hexdigest()[:8]
    return re.sub(r"\W", "_", name + readable)


class _Operator:
    """What torch is told of one op: its schema, how it runs, and what its results look like."""

    def __init__(self, name, op):
        self.name, self.op = name, op
        arguments = [(i, *a) for i, a in op.positions()]
        self.inputs = [a for a in arguments if a[2] != "output"]
        self.outputs = [a for a in op.arguments if a[1] == "output"]
        self.dtypes = [getattr(torch, a[2]) for a in self.outputs]
        # Torch wants those that may be left out behind the others.
        self.inputs.sort(key=lambda a: a[2] == "scalar" and self._default(a) is not None)
        self.names = [a[1] for a in self.inputs]

    def _default(self, argument):
        return self.op._signature.default(argument[1])

    def schema(self):
        words = []
        for argument in self.inputs:
            _, name, kind, type_, _, _ = argument
            if kind == "input":
                words.append(f"Tensor {name}")
                continue
            scalar, default = _SCALARS[re.match(r"[a-z]+", type_).group()], self._default(argument)
            if default is None:
                words.append(f"{scalar} {name}")
            else:
                words.append(f"{scalar}? {name}=None" if default is True else f"{scalar} {name}={default}")
        return f"{self.name}({', '.join(words)}) -> {'Tensor' if len(self.outputs) == 1 else '(' + ', '.join(['Tensor'] * len(self.outputs)) + ')'}"

    def run(self, *given, **named):
        named.update(zip(self.names, given))
        try:
            return self.op(**named)
        except Error:
            # Torch passes what it has, and the library reads dense rows. An error of another kind comes once more.
            return self.op(**{name: _dense_rows(value) for name, value in named.items()})

    def fake(self, *given, **named):
        named.update(zip(self.names, given))
        shapes, like = [None] * len(self.op.arguments), None
        for i, name, kind, _, dimensions, _ in self.inputs:
            if kind == "input":
                value = named[name]
                if value.dim() != dimensions:
                    raise ValueError(f"{self.op.name}: {name} has {value.dim()} dimensions, and the op takes {dimensions}")
                shapes[i] = tuple(value.shape)
                like = value if like is None else like
        made = tuple(like.new_empty(shape, dtype=dtype) for shape, dtype in zip(self.op.output_shapes(shapes), self.dtypes))
        return made[0] if len(made) == 1 else made

    def register(self):
        _LIBRARY.define(self.schema(), tags=(torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order))
        in_order = self.names == [a[0] for _, a in self.op.positions() if a[1] != "output"]

        def run_in_order(*given, **named):
            try:
                return self.op(*given, **named)
            except Error:
                return self.run(*given, **named)

        # No kernel for autograd: torch's would take longer than the call. Outside of torch.no_grad() tensors that require a gradient are
        # an error of the op itself, and in a compiled graph a warning of torch's.
        for key in ("CPU", "CUDA"):
            _LIBRARY.impl(self.name, run_in_order if in_order else self.run, key)
        torch.library.register_fake(f"halyard::{self.name}", self.fake, lib=_LIBRARY)
        return getattr(torch.ops.halyard, self.name).default


def _dense_rows(value):
    return value.contiguous() if isinstance(value, torch.Tensor) and value.dim() > 0 and value.stride(-1) != 1 else value


def op(name, **request):
    """The op as an operator of torch, with the arguments of halyard.op. Built for the processor now, and for CUDA when the first
    tensors come that are there, unless device= says otherwise."""
    keywords = ("schedule", "device", "devices", "target", "set", "shape", "facts", "generator")
    params = {k: v for k, v in request.items() if k not in keywords}
    operator = _name(name, {k: request.get(k) for k in keywords}, params)
    if operator not in _known:
        _known[operator] = _Operator(operator, _op(name, **request)).register()
    return _known[operator]

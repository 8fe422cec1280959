"""The table of what is timed: an entry an op and variant.

    op("rms_norm", family="norms", shapes=["rows=64,cols=4096"], constants="weight",
       torch=lambda x, weight, eps: F.rms_norm(x, weight.shape, weight, eps))

A peer is a function whose parameters are named after the op's arguments (tensors, last index
innermost, and scalars), its dimensions, `type`, and what `prepare` returned. It is called only where
the peer is installed, so an entry costs nothing without peers.
"""

import dataclasses
import inspect
import typing

FAMILIES = ("norms", "softmax and losses", "GEMM", "attention", "convolution", "elementwise", "blocks", "application", "whole models",
            "language models")
TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


@dataclasses.dataclass
class Entry:
    op: str
    family: str
    shapes: list                       # texts, or (text, "f32 bf16") for some types only
    label: str = ""                    # of the variant, for tables
    types: str = "f32 f16 bf16"
    params: dict = dataclasses.field(default_factory=dict)    # of the generator
    settings: dict = dataclasses.field(default_factory=dict)  # of the schedule
    schedules: tuple = ("",)           # the fastest counts; this, params and settings may be functions of the
                                       # dimensions, `type` and `amx` (whether the processor has it)
    constants: str = ""                # arguments that a peer may pack or fold ahead of the calls
    cold: bool = False                 # also with rotating buffers; for ops that only stream
    flops: typing.Callable = None      # of the dims, where the registry's formula is not this variant's
    bytes: typing.Callable = None      # that must move, where it is not every buffer once
    prepare: typing.Callable = None    # of the dict of values: fills Halyard's buffers; returns what peers take
    results: typing.Callable = None    # Halyard's outputs as the peers return them
    torch: typing.Callable = None      # eager, and the same compiled
    spelled: typing.Callable = None    # the same in operators that the ONNX exporter knows
    compiled: bool = True
    more: dict = dataclasses.field(default_factory=dict)  # name -> function: further ways through torch
    onnx: typing.Any = True            # True: exported from `torch`; a function gives nodes; None: no such op
    onednn: typing.Callable = None     # as openblas: gives the call, and its result tensors
    native: dict = dataclasses.field(default_factory=dict)  # name -> function: further ones like it
    openblas: typing.Callable = None
    tolerance: float = 1               # times that of the type
    strides: dict = None               # of arguments that are not dense: name -> innermost first
    case: typing.Any = None            # of the population, of which it is

    @property
    def name(self):
        return f"{self.op} {self.label}".strip()

    @property
    def sizes(self):
        """The shapes without their types."""
        return [s if isinstance(s, str) else s[0] for s in self.shapes]


ENTRIES = []


def op(name, **fields):
    entry = Entry(name, **fields)
    assert entry.family in FAMILIES, entry.family
    ENTRIES.append(entry)


def nodes(*of_graph, **constants):
    """What an entry's `onnx` gives: nodes (operator, inputs, outputs, attributes[, domain]) over the
    names of arguments, with the results named result0 and on, and tensors that only the graph has."""
    return list(of_graph), constants


def arguments_of(function, values):
    """The values that a function's parameters name; one with a default may be missing."""
    named = inspect.signature(function).parameters
    return {n: values[n] for n, p in named.items() if n in values or p.default is p.empty}


def call_by_name(function, values):
    return function(**arguments_of(function, values))


def dims_of(shape):
    return {k: int(v) for k, v in (d.split("=") for d in shape.split(","))}


def rows(entries, types=None, known=None):
    """(entry, shape, type) for everything in the table; `known`: of these ops only."""
    for e in entries:
        if known is not None and e.op not in known:
            continue
        for shape in e.shapes:
            text, own = (shape, e.types) if isinstance(shape, str) else shape
            for t in own.split():
                if not types or t in types:
                    yield e, text, t


def check(registry):
    """What is wrong with the table: a list of sentences."""
    wrong = [f"{o['op']} has no entry under scripts/peers/ops" for o in registry
             if not any(e.op == o["op"] for e in ENTRIES)]
    dims = {o["op"]: set(o["dims"]) for o in registry}
    for e in ENTRIES:
        for text in e.sizes:
            if e.op in dims and set(dims_of(text)) != dims[e.op]:
                wrong.append(f"{e.name}: the shape {text} does not name the dimensions {', '.join(sorted(dims[e.op]))}")
    return wrong

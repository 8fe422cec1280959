"""Arrays of 16 bits: with `--type bfloat16` or `float16` weights and what groups store for each other have that type.

Inputs and outputs of the model stay as they are, and what a group computes is f32 until it stores it: sums of products, reductions and
chains of elementwise steps are rounded once. Biases of ops and constants of few elements in other groups stay f32 there.
"""

import ml_dtypes
import numpy as np
from graph import ModelError, Node, Value
from groups import MOVES, Group

TYPES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
LARGE = 1024  # elements of a constant that is stored in 16 bits


def choose(graph, groups, half):
    """Sets `stored` of values. Raises ModelError."""
    if half in ("", "float32"):
        return
    if half not in TYPES:
        raise ModelError(f"error: --type {half}: there are bfloat16, float16 and float32")
    if graph.has_integers:
        raise ModelError(f"error: --type {half}: this model has products of 8 bits already")
    graph.half = half
    roots = {g.output: g.nodes[0].inputs[0] for g in groups if g.is_alias}
    wide = set(graph.outputs)

    def root(value):
        while value in roots:
            value = roots[value]
        return value
    wide = {root(v) for v in graph.outputs} | set(graph.inputs)
    attentions = [g for g in groups if g.match is not None]
    changed = True
    while changed:  # all that an attention reads and writes is of one type
        changed = False
        for g in attentions:
            own = {root(v) for v in [*floats_of(g), g.output]}
            if own & wide and not own <= wide:
                wide |= own
                changed = True
    for g in groups:
        for v in g.results:
            if v.type == "float32" and root(v) not in wide:
                v.stored = half
    for g in attentions:
        for operand, _ in g.match.parts.terms:
            if operand.choice is None:
                root(operand.base).is_finite = operand.base.is_finite = True
        for v in floats_of(g):
            if v.constant is not None and root(v) not in wide:
                v.stored = half
    for g in groups:
        if g.match is None:
            for v in g.inputs:
                if v.constant is not None and v.type == "float32" and v.constant.size >= LARGE and v.rank > 1:
                    v.stored = half


def floats_of(group):
    """What an attention reads but truth values."""
    parts = group.match.parts
    return [parts.q.base, parts.k.base, parts.v.base, *[o.base for o, _ in parts.terms if o.choice is None]]


def rounded(array, half):
    with np.errstate(over="ignore"):
        return array.astype(TYPES[half]) if half else array


def array_of(value):
    """A constant as it is stored."""
    if value.stored == value.type or value.stored not in TYPES:
        return value.constant
    made = value.constant
    if value.is_finite:
        made = np.maximum(made, least(value.stored))
    return rounded(made, value.stored)


def least(half):
    return float(ml_dtypes.finfo(TYPES[half]).min)


def as_half(value, half, packed):
    """An operand of an op that takes 16 bits: as it is, or behind a kernel that rounds it."""
    if value.stored == half:
        return value
    if (value, half) not in packed:
        made = Value(value.name + "_half", half, value.shape)
        if value.constant is not None:
            made.constant = rounded(value.constant, half)
        else:
            node = Node("map", [value], value.node.origin if value.node is not None else 0, fn="cast")
            node.output, made.node = made, node
            group = Group([node], f"round_{len(packed)}")
            group.is_added = True
            packed.setdefault("groups", []).append(group)
        packed[value, half] = made
    return packed[value, half]


class Types:
    """Of the values of a group in its kernel."""

    def __init__(self, group):
        last = group.nodes[-1]
        result, floats = group.output, [v for v in group.inputs if v.type == "float32"]
        halves = {v.stored for v in [*floats, result]} if result.type == "float32" else {"float32"}
        # What only moves elements has nothing to round.
        self.half = halves.pop() if len(halves) == 1 and all(n.op in MOVES for n in group.nodes) else "float32"
        self.joins_stored = self.half == "float32" and last.op == "concat" and result.stored != result.type
        self.result = result

    def of(self, value):
        if value.type != "float32":
            return value.type
        return self.result.stored if self.joins_stored and value is self.result else self.half

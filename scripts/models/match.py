"""Groups that an op of ours computes: a product with constant weights and its epilogue is a gemm.

What does not match stays with the graph generator, and computes the same.
"""

import math

import numpy as np
from graph import ModelError, Value
from sizes import product

PANEL = 64  # columns of a panel of packed weights, which the schedule of gemm is told


class Call:
    """An op with its generator parameters and what its schedule is told, and the arrays in the order of its arguments, each with the shape
    that it has there."""

    def __init__(self, op, params, settings, inputs, shapes):
        self.op, self.params, self.settings, self.inputs, self.shapes = op, params, settings, inputs, shapes


def match(groups):
    packed = {}
    for group in groups:
        if group.call is None and not group.schedule and group.wanted != "graph":
            group.call = gemm(group, packed)
        if group.wanted not in ("", "graph", group.call.op if group.call else ""):
            raise ModelError(f'{group.at}: op "{group.wanted}" is not what computes these nodes; '
                             f'{group.call.op if group.call else "graph"} does')


def number_of(value):
    """Of a constant of one element."""
    return float(value.constant.flatten()[0]) if value.constant is not None and value.constant.size == 1 else None


def is_near(number, wanted):
    return number is not None and math.isclose(number, wanted, rel_tol=1e-4)


def other_of(node, value):
    """The operand of a map of two that is not `value`."""
    if len(node.inputs) != 2 or value not in node.inputs:
        return None
    return node.inputs[1] if node.inputs[0] is value else node.inputs[0]


class Chain:
    """The maps behind a product, step by step."""

    def __init__(self, group, start):
        self.readers = {}
        for n in group.nodes:
            for v in n.inputs:
                self.readers.setdefault(v, []).append(n)
        self.value, self.done = start, {start.node}

    def only(self, value, fn):
        """The one reader of a value, where it is this function."""
        found = self.readers.get(value, [])
        return found[0] if len(found) == 1 and found[0].is_map and found[0].attributes["fn"] == fn else None

    def took(self, *nodes):
        self.done.update(nodes)
        self.value = nodes[-1].output
        return True

    def bias(self, columns):
        node = self.only(self.value, "add")
        other = other_of(node, self.value) if node else None
        if other is None or other.constant is None or other.type != "float32" or other.constant.size != columns or \
                other.rank == 0 or other.shape[-1] != columns or columns == 1:
            return None
        self.took(node)
        return other

    def residual(self):
        node = self.only(self.value, "add")
        other = other_of(node, self.value) if node else None
        if other is None or other is self.value or other.constant is not None or other.shape != self.value.shape or other.node in self.done:
            return None
        self.took(node)
        return other

    def activation(self):
        v, readers = self.value, self.readers.get(self.value, [])
        for fn, name in (("relu", "relu"), ("gelu", "gelu_erf")):
            if (node := self.only(v, fn)) is not None and self.took(node):
                return name
        if len(readers) != 2:
            return None
        gate = next((n for n in readers if n.is_map and n.attributes["fn"] == "sigmoid"), None)
        if gate is not None:
            last = next(n for n in readers if n is not gate)
            if last.is_map and last.attributes["fn"] == "mul" and set(last.inputs) == {v, gate.output} and \
                    self.readers[gate.output] == [last] and self.took(gate, last):
                return "silu"
        return "gelu_erf" if self.gelu(v, readers) else None

    def gelu(self, v, readers):
        """x (1 + erf(x / sqrt 2)) / 2, as exporters write it."""
        inner = next((n for n in readers if n.is_map and (
            n.attributes["fn"] == "div" and n.inputs[0] is v and is_near(number_of(n.inputs[1]), math.sqrt(2)) or
            n.attributes["fn"] == "mul" and is_near(number_of(other_of(n, v)), math.sqrt(0.5)))), None)
        erf = self.only(inner.output, "erf") if inner else None
        plus = self.only(erf.output, "add") if erf else None
        if plus is None or not is_near(number_of(other_of(plus, erf.output)), 1):
            return False
        mul = self.only(plus.output, "mul")
        rest = next(n for n in readers if n is not inner)
        if mul is None or not rest.is_map or rest.attributes["fn"] != "mul":
            return False
        if rest is mul and set(mul.inputs) == {v, plus.output}:  # (x * (1 + erf)) * 0.5
            half = self.only(mul.output, "mul")
            return half is not None and is_near(number_of(other_of(half, mul.output)), 0.5) and self.took(inner, erf, plus, mul, half)
        if is_near(number_of(other_of(rest, v)), 0.5) and set(mul.inputs) == {rest.output, plus.output}:  # (x * 0.5) * (1 + erf)
            return self.only(rest.output, "mul") is mul and self.took(inner, erf, plus, rest, mul)
        return False


def gemm(group, packed):
    products = [n for n in group.nodes if n.reduces]
    if len(products) != 1 or products[0].op != "matmul":
        return None
    node = products[0]
    a, b = node.inputs
    if b.constant is None or b.rank != 2 or b.type != "float32" or a.node in group.nodes or a.rank < 2 or b.constant.size == 0:
        return None
    depth, columns = b.constant.shape
    if columns < 8:
        return None
    rows = product(a.shape[:-1])
    chain = Chain(group, node.output)
    bias, activation, residual = chain.bias(columns), chain.activation(), chain.residual()
    if chain.done != set(group.nodes) or chain.value is not group.output:
        return None
    if b not in packed:
        packed[b] = pack(b)
    inputs, shapes = [a, packed[b]], [(rows, depth), packed[b].shape]
    params = {}
    if bias is not None:
        params["add_bias"] = "true"
        inputs.append(bias)
        shapes.append((columns,))
    if activation:
        params["activation"] = activation
    if residual is not None:
        params["add_residual"] = "true"
        inputs.append(residual)
        shapes.append((rows, columns))
    return Call("gemm", params, {"panel": str(PANEL)}, inputs, [*shapes, (rows, columns)])


def pack(b):
    """Panels of columns, one after the other, each from front to back (generators/math/weights.h)."""
    depth, columns = b.constant.shape
    panels = (columns + PANEL - 1) // PANEL
    whole = np.zeros([depth, panels * PANEL], np.float32)
    whole[:, :columns] = b.constant
    made = np.ascontiguousarray(whole.reshape(depth, panels, PANEL).transpose(1, 0, 2)).reshape(panels, depth, PANEL, 1)
    return Value(b.name + "_packed", "float32", made.shape, constant=made)

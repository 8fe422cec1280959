"""What a model is between reading and building: values and the nodes that make them.

A node is one of a few kinds (map, reduce, matmul, conv, ...), which the graph generator knows (generators/graph/nodes.h);
what ONNX has beyond these is made of them when it is read (lowering/).
"""

import math

from sizes import Size, product

BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1,
         "uint16": 2, "uint32": 4, "uint64": 8, "bool": 1}


MOST = (1 << 31) - 1  # of a size, of the elements of an array and of a number in an attribute: kernels count in 32 bits
MOST_DIMENSIONS = 16  # of an array


class ModelError(Exception):
    """What is wrong with the model, ready to print."""


def wrong_shape(shape):
    """What is wrong with the shape of an array, or "". Sizes that are known in a call only are checked there."""
    if len(shape) > MOST_DIMENSIONS:
        return f"{len(shape)} dimensions are more than {MOST_DIMENSIONS}"
    shown = "[" + ", ".join(str(s)[:80] for s in shape) + "]"
    known = [s.number for s in shape if s.number is not None]
    if any(n < 0 for n in known):
        return f"the shape {shown} has a size below 0"
    if 0 not in known and math.prod(known) > MOST:
        return f"the shape {shown} has more than 2^31 - 1 elements"
    if any(abs(c) > MOST for s in shape for c in s.terms.values()):
        return f"the shape {shown} has a factor beyond 32 bits"
    return ""


class Value:
    """An array: of an input, a constant, or a node. `content` are the Sizes of a small array of whole numbers, where they are known
    before a call; `constant` is the array itself, and `levels` (whole numbers of 8 bits, their scale, and its axis) what it was dequantised of."""

    def __init__(self, name, type_, shape, node=None, constant=None, content=None):
        self.name, self.type, self.shape = name, type_, tuple(Size.of(s) for s in shape)
        self.node, self.constant, self.content = node, constant, content
        self.levels = None
        self.stored = type_  # of its elements in memory: of 16 bits where the model is compiled so (storage.py)
        self.is_finite = False  # what is stored of it has no infinities

    @property
    def rank(self):
        return len(self.shape)

    @property
    def elements(self):
        return product(self.shape)

    @property
    def bytes(self):
        return self.elements * BYTES[self.stored]

    def __repr__(self):
        return f"{self.name}: {self.type}[{','.join(map(str, self.shape))}]"


class Node:
    """`origin` is the ONNX node that it was made of: all nodes of one origin begin in one group."""

    def __init__(self, op, inputs, origin, **attributes):
        self.op, self.inputs, self.origin, self.attributes = op, list(inputs), origin, attributes
        self.output = None

    @property
    def is_map(self):
        return self.op == "map"

    @property
    def reduces(self):
        """Whether an element of the result is made of many."""
        return self.op in ("reduce", "arg", "cumsum", "scatter", "matmul", "conv", "conv_transpose", "pool")

    def __repr__(self):
        return f"{self.output} = {self.op}({', '.join(v.name for v in self.inputs)})"


class Names:
    """Names that differ from each other. Each is looked for from where the last of its kind was found: thousands may be the same text."""

    def __init__(self, joint="_"):
        self.joint, self.taken, self.next = joint, set(), {}

    def add(self, name):
        made = name
        while made in self.taken:
            number = self.next.get(name, 2)
            self.next[name] = number + 1
            made = f"{name}{self.joint}{number}"
        self.taken.add(made)
        return made


class Graph:
    """The nodes stand in an order in which they can be computed."""

    def __init__(self, name):
        self.name = name
        self.dimensions = {}   # name: (least, most)
        self.inputs, self.outputs, self.nodes = [], [], []
        self.output_names = []
        self.conditions = []   # (Size, Size, why): what has to be equal in a call
        self.least = []        # (Size, Size, why): what has to be no less in a call
        self.bounded = {}      # Size: where; elements of what kernels store for themselves, to be checked in a call
        self.places = {}       # origin: how a person finds it in the model
        self.half = ""         # bfloat16 or float16: what arrays between groups and weights are stored as (storage.py)
        self.has_integers = False  # products of whole numbers of 8 bits (integers.py)

    def consumers(self):
        found = {}
        for node in self.nodes:
            for value in node.inputs:
                found.setdefault(value, []).append(node)
        return found

    def drop_unused(self):
        """Leaves the nodes that an output needs."""
        needed, wanted = set(), list(self.outputs)
        while wanted:
            value = wanted.pop()
            if value.node is not None and value.node not in needed:
                needed.add(value.node)
                wanted.extend(value.node.inputs)
        self.nodes = [n for n in self.nodes if n in needed]

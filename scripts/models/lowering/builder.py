"""What the lowerings of ops build with: nodes with the shapes that they have, and attributes of ONNX nodes."""

import numpy as np
import onnx
from graph import MOST, ModelError, Node, Value, wrong_shape
from sizes import Size, product

OPS = {}  # name: function(builder, call), which returns a Value or a list of them


def op(*names):
    """Registers a function as what becomes of ops of these names."""
    def register(function):
        for n in names:
            OPS[n] = function
        return function
    return register


TYPES = {getattr(onnx.TensorProto, o): n for o, n in
         [("FLOAT", "float32"), ("DOUBLE", "float64"), ("FLOAT16", "float16"), ("BFLOAT16", "bfloat16"), ("INT64", "int64"),
          ("INT32", "int32"), ("INT16", "int16"), ("INT8", "int8"), ("UINT8", "uint8"), ("UINT16", "uint16"), ("UINT32", "uint32"),
          ("UINT64", "uint64"), ("BOOL", "bool")]}


def type_name(number, where):
    if number not in TYPES:
        known = number in onnx.TensorProto.DataType.values()
        raise ModelError(f"{where}: elements of type {onnx.TensorProto.DataType.Name(number) if known else number} are not supported")
    return TYPES[number]


class Call:
    """An ONNX node with its inputs as Values (None where one is left out)."""

    def __init__(self, node, inputs, place, version):
        self.node, self.inputs, self.place, self.version = node, inputs, place, version
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}

    def __getitem__(self, i):
        return self.inputs[i] if i < len(self.inputs) else None

    def get(self, name, default=None):
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def fail(self, why):
        raise ModelError(f"{self.place}: {why}")

    def number(self, name, default, least=0, most=MOST):
        """A whole number of an attribute."""
        return self.checked(name, self.get(name, default), least, most)

    def list(self, name, default, length=None, least=0, most=MOST):
        """Whole numbers of an attribute, so many."""
        values = self.get(name, default)
        if not isinstance(values, list) or length is not None and len(values) != length:
            self.fail(f"{name}: {length if length is not None else 'a list of'} whole numbers are wanted, not {values}"[:300])
        return [self.checked(name, v, least, most) for v in values]

    def checked(self, name, value, least, most):
        if not isinstance(value, int) or not least <= value <= most:
            self.fail(f"{name}: {str(value)[:80]} is no whole number from {least} to {most}")
        return value

    def axis(self, rank, default=0):
        return self.normal(self.get("axis", default), rank)

    def normal(self, axis, rank, name="axis"):
        if not isinstance(axis, (int, np.integer)) or not -rank <= axis < max(rank, 1):
            self.fail(f"{name}: {str(axis)[:80]} is none of {rank} dimensions")
        return int(axis) % max(rank, 1)

    def axes(self, values, rank, name="axes"):
        """As places from 0 on, none twice."""
        made = [self.normal(a, rank, name) for a in values]
        if len(set(made)) != len(made):
            self.fail(f"{name}: {str(values)[:80]} names a dimension twice")
        return made

    def rank(self, i, wanted, name):
        """Fails where an input has not so many dimensions."""
        if self[i] is None or self[i].rank != wanted:
            self.fail(f"{name} has {'no' if self[i] is None else self[i].rank} dimensions; {wanted} are wanted")

    def numbers(self, i, name=None, default=None):
        """Whole numbers or floats that were an attribute in older opsets and are an input now; they have to be known."""
        if self[i] is None:
            return self.get(name, default) if name else default
        if self[i].constant is None:
            self.fail(f'"{self[i].name}" has to be a constant here')
        return self[i].constant.flatten().tolist()

    def contents(self, i, name=None, default=None):
        """The same as Sizes, which may depend on the free dimensions."""
        if self[i] is None:
            return [Size.of(n) for n in self.get(name)] if name and self.get(name) is not None else default
        content = content_of(self[i])
        if content is None:
            self.fail(f'"{self[i].name}" depends on data, and shapes may depend on sizes only')
        return [Size.of(s) for s in content.flatten().tolist()]


def content_of(value):
    """An object array of Sizes, or None."""
    if value.content is not None:
        return value.content
    if value.constant is not None and value.constant.size <= 64 and value.constant.dtype.kind in "iub":
        result = np.empty(value.constant.shape, object)
        result.flat = [Size.of(int(v)) for v in value.constant.flatten()]
        return result
    return None


class Builder:
    def __init__(self, graph):
        self.graph = graph
        self.origin, self.place = 0, ""
        self.count = 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def constant(self, array, type_=None):
        array = np.asarray(array)
        return Value(self.name(), type_ or str(array.dtype), array.shape, constant=array)

    def scalar(self, number, type_):
        import ml_dtypes
        dtype = ml_dtypes.bfloat16 if type_ == "bfloat16" else np.dtype(type_)
        return self.constant(np.asarray(number).astype(dtype), type_)

    def sizes(self, content, type_="int64"):
        """A Value of known Sizes; a constant where they are numbers."""
        content = np.asarray(content, object)
        flat = [Size.of(s) for s in content.flatten().tolist()]
        made = np.empty(content.shape, object)
        made.flat = flat
        if all(s.number is not None for s in flat):
            return self.constant(np.array([s.number for s in flat], dtype=type_).reshape(content.shape), type_)
        return Value(self.name(), type_, content.shape, content=made)

    def add(self, op_name, inputs, shape, type_, **attributes):
        shape = [Size.of(s) for s in shape]
        wrong = wrong_shape(shape)
        if wrong:
            raise ModelError(f"{self.place}: {wrong}")
        for key, value in attributes.items():
            numbers = value if isinstance(value, list) else [value]
            if any(isinstance(n, int) and abs(n) > MOST for n in numbers):
                raise ModelError(f"{self.place}: {key}: {str(value)[:80]} is beyond 32 bits")
        node = Node(op_name, [self.stored(v) for v in inputs], self.origin, **attributes)
        node.output = Value(self.name(), type_, shape, node)
        self.graph.nodes.append(node)
        return node.output

    def stored(self, value):
        """Sizes become an array where an array is needed."""
        if value.content is None or value.node is not None or value.constant is not None:
            return value
        flat = [str(s) for s in value.content.flatten()]
        node = Node("sizes", [], self.origin, values=flat)
        made = Value(self.name(), value.type, (len(flat),), node)
        node.output = made
        self.graph.nodes.append(node)
        return made if value.rank == 1 else self.reshape(made, value.shape)

    def bound(self, elements, what):
        """What a kernel stores for itself has to be counted in 32 bits, too."""
        if elements.number is None:
            self.graph.bounded[elements] = f"{self.place.split('error: ')[-1]}: {what}"
        elif elements.number > MOST:
            raise ModelError(f"{self.place}: {what} has more than 2^31 - 1 elements")

    def same(self, a, b, why):
        """Whether two sizes are the same; where that shows in a call only, it becomes a condition of the call."""
        if a == b:
            return True
        if a.number is not None and b.number is not None:
            return False
        if (a, b) not in [(x, y) for x, y, _ in self.graph.conditions]:
            self.graph.conditions.append((a, b, why))
        return True

    def at_least(self, size, least, why):
        """Whether a size is no less than another; where that shows in a call only, it becomes a condition of the call."""
        least = Size.of(least)
        apart = (size - least).number
        if apart is not None:
            return apart >= 0
        if (size, least) not in [(x, y) for x, y, _ in self.graph.least]:
            self.graph.least.append((size, least, why))
        return True

    def broadcast_shape(self, shapes):
        rank = max(len(s) for s in shapes)
        result = [Size.of(1)] * rank
        for shape in shapes:
            for d, s in enumerate(shape, rank - len(shape)):
                if s == 1:
                    continue
                if result[d] == 1:
                    result[d] = s
                elif not self.same(result[d], s, self.place):
                    raise ModelError(f"{self.place}: shapes {self.shown(shapes)} do not broadcast")
                elif s.number is not None:
                    result[d] = s
        return tuple(result)

    @staticmethod
    def shown(shapes):
        return " and ".join("[" + ", ".join(map(str, s)) + "]" for s in shapes)

    def map(self, fn, *inputs, type_=None):
        inputs = list(inputs)
        like = next((v.type for v in reversed(inputs)), None)
        return self.add("map", inputs, self.broadcast_shape([v.shape for v in inputs]), type_ or like, fn=fn)

    def with_number(self, fn, value, number):
        return self.map(fn, value, self.scalar(number, value.type))

    def reshape(self, value, shape):
        shape = tuple(Size.of(s) for s in shape)
        if shape == value.shape:
            return value
        if value.constant is not None and all(s.number is not None for s in shape):
            return self.constant(value.constant.reshape([s.number for s in shape]), value.type)
        runs = runs_of(value.shape, shape)
        if runs is None:
            if not self.same(product(value.shape), product(shape), self.place):
                raise ModelError(f"{self.place}: {value.shape} has not as many elements as {shape}")
            runs = [[list(range(value.rank)), list(range(len(shape)))]]
        return self.add("reshape", [value], shape, value.type, runs=runs)

    def transpose(self, value, perm):
        if list(perm) == list(range(value.rank)):
            return value
        if value.constant is not None:
            made = self.constant(np.ascontiguousarray(value.constant.transpose(perm)), value.type)
            if value.levels is not None:
                numbers, scale, axis = value.levels
                made.levels = numbers.transpose(perm), scale, list(perm).index(axis)
            return made
        return self.add("transpose", [value], [value.shape[p] for p in perm], value.type, perm=list(perm))

    def broadcast(self, value, shape):
        shape = tuple(Size.of(s) for s in shape)
        return value if shape == value.shape else self.add("broadcast", [value], shape, value.type)

    def slice(self, value, starts, shape, steps):
        """The Sizes of the first elements, and the result's shape."""
        if tuple(shape) == value.shape and all(s == 1 for s in steps):
            return value
        return self.add("slice", [value], shape, value.type, starts=[str(s) for s in starts], steps=list(steps))

    def reduce(self, fn, value, axes, keep, type_=None):
        axes = sorted(axes)
        if not axes:
            return value
        shape = [Size.of(1) if d in axes else s for d, s in enumerate(value.shape) if keep or d not in axes]
        return self.add("reduce", [value], shape, type_ or value.type, fn=fn, axes=axes, keep=bool(keep))


def own_part(b, c, what):
    """What follows is a unit of its own, as if the model had a node for it."""
    b.origin = max(b.graph.places) + 1
    b.graph.places[b.origin] = f'{c.node.op_type} "{c.node.name or c.node.output[0]} {what}", which makes "{c.node.output[0]}"'


def runs_of(before, after):
    """Pairs of runs of dimensions that have the same number of elements, each as short as can be told; None where the whole has not."""
    runs, i, j = [], 0, 0
    while i < len(before) or j < len(after):
        found = next_run(before[i:], after[j:])
        if found is None:
            return None
        runs.append([list(range(i, i + found[0])), list(range(j, j + found[1]))])
        i, j = i + found[0], j + found[1]
    return runs


def next_run(before, after):
    """How many dimensions of each make the shortest run; dimensions of 1 may be one of their own."""
    if before and after and before[0] == after[0]:
        return 1, 1
    if before and before[0] == 1:
        return 1, 0
    if after and after[0] == 1:
        return 0, 1
    left, right = [product(before[:n]) for n in range(len(before) + 1)], [product(after[:n]) for n in range(len(after) + 1)]
    for total in range(2, len(before) + len(after) + 1):
        for n in range(max(total - len(after), 1), min(total, len(before) + 1)):
            if left[n] == right[total - n]:
                return n, total - n
    return None

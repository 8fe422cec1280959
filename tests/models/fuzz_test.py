"""Random small graphs, compiled, against the reference evaluator of the onnx package.

HALYARD_MODELS_FUZZ=10000 draws so many, HALYARD_MODELS_SEED=7 others, and HALYARD_MODELS_TARGET=cuda compiles them for the emulator,
HALYARD_MODELS_TYPE=bfloat16 with arrays of this type, without ops that jump. Several graphs are compiled as one model of several outputs.
HALYARD_MODELS_OF=2000 draws so many and compiles those that have most of what the others lack; HALYARD_MODELS_PART=2/3 the second third of them.
"""

import os
import pathlib
import sys

import numpy as np
import onnx
import support
from fuzz_ops import Ops
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

COUNT = int(os.environ.get("HALYARD_MODELS_FUZZ", "10"))
ON_DEVICE = os.environ.get("HALYARD_MODELS_TARGET", "") == "cuda"
TYPE = os.environ.get("HALYARD_MODELS_TYPE", "")
SEED = int(os.environ.get("HALYARD_MODELS_SEED", "1"))
OF = int(os.environ.get("HALYARD_MODELS_OF", "0"))
PART, PARTS = map(int, os.environ.get("HALYARD_MODELS_PART", "1/1").split("/"))
TOGETHER = 5
EPSILONS = 400 if not TYPE else 60  # of the type, of the largest element: sums of some hundred products
TIMES_ROUNDINGS, MOST_EPSILONS = 16, 20000  # what more is right where f32 itself is that far off f64
EPSILON = {"": 2.0 ** -23, "bfloat16": 2.0 ** -7, "float16": 2.0 ** -10}[TYPE]


class Draw(Ops):
    """A graph that grows node by node; shapes are those of a call with n = 3."""

    N = 3
    rounds = bool(TYPE)  # to 16 bits, which what jumps does not stand

    def __init__(self, rng, prefix):
        self.rng, self.prefix = rng, prefix
        self.nodes, self.constants, self.inputs = [], [], []
        self.images = rng.random() < 0.4
        self.values = []  # (name, shape with "n" where it is free)
        self.count = 0

    def name(self, what="v"):
        self.count += 1
        return f"{self.prefix}{what}{self.count}"

    def number(self, shape):
        return [self.N if s == "n" else s for s in shape]

    def input(self):
        rank = 4 if self.images else self.rng.integers(2, 5)
        shape = [*(["n"] if self.rng.random() < 0.7 else [2]), *[int(self.rng.choice([1, 3, 4, 5, 8, 17])) for _ in range(rank - 1)]]
        name = self.name("input")
        self.inputs.append((name, support.FLOAT, shape))
        self.values.append((name, shape))

    def constant(self, array):
        name = self.name("c")
        self.constants.append((name, array))
        return name

    def floats(self, shape):
        return self.constant(self.rng.standard_normal(shape).astype(np.float32))

    def add(self, op, inputs, shape, **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{op}_{name}", **attributes))
        self.values.append((name, shape))

    def pick(self, wanted=lambda shape: True):
        found = [v for v in self.values if wanted(v[1])]
        return found[self.rng.integers(len(found))] if found else (None, None)

    def step(self):
        kinds = [self.unary, self.binary, self.reduce, self.move, self.softmax, self.matmul, self.window, self.reshape, self.joined,
                 self.norm, self.gathered, self.choice, self.attention, self.chosen, self.levels, self.letters, *[self.other] * 8]
        if self.images:
            kinds = [self.window, self.window, self.of_images, self.of_images, self.unary, self.binary, self.reduce, self.move, *[self.other] * 4]
        step = kinds[self.rng.integers(len(kinds))]
        if not (TYPE and step in (self.choice, self.levels)):
            step()

    def unary(self):
        x, shape = self.pick()
        op = str(self.rng.choice(["Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Erf", "HardSwish", "Softplus", "Elu", *([] if TYPE else ["Floor"])]))
        self.add(op, [x], shape)

    def binary(self):
        x, shape = self.pick()
        op = str(self.rng.choice(["Add", "Mul", "Sub", "Max", "Min"]))
        other = [s if self.rng.random() < 0.7 and s != "n" else 1 for s in shape][self.rng.integers(len(shape)):]
        y, same = self.pick(lambda s: s == shape)
        self.add(op, [x, y if same and self.rng.random() < 0.6 else self.floats(other)], shape)

    def reduce(self):
        x, shape = self.pick(lambda s: len(s) > 1)
        if x is None:
            return
        axes = sorted({int(a) for a in self.rng.integers(1, len(shape), self.rng.integers(1, 3))})
        keep = int(self.rng.integers(2))
        op = str(self.rng.choice(["ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2"]))
        self.add(op, [x], [1 if d in axes else s for d, s in enumerate(shape) if keep or d not in axes], axes=axes, keepdims=keep)

    def move(self):
        x, shape = self.pick(lambda s: len(s) > 1)
        if x is None:
            return
        if self.rng.random() < 0.5:
            perm = [int(p) for p in self.rng.permutation(len(shape))]
            self.add("Transpose", [x], [shape[p] for p in perm], perm=perm)
            return
        axis = next((d for d, s in enumerate(shape) if s != "n" and s > 2), None)
        if axis is None:
            return
        step = int(self.rng.choice([1, 2, -1]))
        start, end = (1, shape[axis]) if step > 0 else (-1, -(1 << 40))
        count = len(range(shape[axis])[slice(start, end if step > 0 else None, step)])
        ends = [self.constant(np.array([v], np.int64)) for v in (start, end, axis, step)]
        self.add("Slice", [x, *ends], [count if d == axis else s for d, s in enumerate(shape)])

    def softmax(self):
        x, shape = self.pick()
        self.add(str(self.rng.choice(["Softmax", "LogSoftmax"])), [x], shape, axis=int(self.rng.integers(len(shape))))

    def matmul(self):
        x, shape = self.pick(lambda s: len(s) > 1 and s[-1] != "n")
        if x is None:
            return
        columns = int(self.rng.choice([1, 5, 16, 65]))
        self.add("MatMul", [x, self.floats([shape[-1], columns])], [*shape[:-1], columns])
        if self.rng.random() < 0.5:  # as gemm has it behind
            self.add("Add", [self.values[-1][0], self.floats([columns])], self.values[-1][1])
            self.add("Relu", [self.values[-1][0]], self.values[-1][1])

    def levels(self):
        """An input in whole numbers of 8 bits by another, or by itself, in such numbers. What is computed before might lie between two levels."""
        x, _, shape = self.inputs[self.rng.integers(len(self.inputs))]
        if "n" in shape[-2:]:
            return
        made = []
        for _ in range(2):
            kind = str(self.rng.choice(["uint8", "int8"]))
            info = np.iinfo(kind)
            scale, zero = self.constant(np.float32(self.rng.uniform(0.01, 0.1))), self.rng.integers(info.min, info.max + 1)
            self.add("QuantizeLinear", [x, scale, self.constant(np.array(zero, kind))], shape)
            # As DequantizeLinear, which the reference evaluator does not have in this opset.
            for op, more, attributes in (("Cast", [], {"to": 6}), ("Sub", [self.constant(np.array(zero, np.int32))], {}), ("Cast", [], {"to": 1}), ("Mul", [scale], {})):
                self.add(op, [self.values.pop()[0], *more], shape, **attributes)
            made.append(self.values.pop()[0])
        perm = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        self.add("Transpose", made[1:], [], perm=perm)
        turned = self.values.pop()[0]
        self.add("MatMul", [made[0], turned], [*shape[:-1], shape[-2]])
        if self.rng.random() < 0.5:
            self.add("Relu", [self.values[-1][0]], self.values[-1][1])

    def letters(self):
        """A product, or another order of dimensions."""
        x, shape = self.pick(lambda s: 1 < len(s) < 5 and "n" not in s[1:])
        if x is None:
            return
        letters = "abcd"[:len(shape)]
        if self.rng.random() < 0.3:
            order = self.rng.permutation(len(shape))
            self.add("Einsum", [x], [shape[i] for i in order], equation=f"{letters}->{''.join(letters[i] for i in order)}")
            return
        columns = int(self.rng.choice([1, 4, 17]))
        self.add("Einsum", [x, self.floats([shape[-1], columns])], [*shape[:-1], columns], equation=f"...{letters[-1]},{letters[-1]}z->...z")

    def attention(self):
        """Of rows of tokens, in a form drawn from those that exporters write, and now and then one that is none."""
        x, shape = self.pick(lambda s: len(s) == 3 and "n" not in s[1:] and max(s[1:]) < 80)
        if x is None:
            return
        other, keys = self.pick(lambda s: len(s) == 3 and "n" not in s[1:] and s[0] == shape[0] and max(s[1:]) < 80)
        heads, depth = int(self.rng.choice([1, 2, 3])), int(self.rng.choice([1, 4, 8, 16]))
        shared = heads if self.rng.random() < 0.8 else 1
        batch, rows, columns, some = shape[0], shape[1], keys[1], self.rng.random
        first = -1 if batch == "n" else batch

        def linear(value, width, out):
            self.add("MatMul", [value, self.floats([width, out])], [])
            if some() < 0.5:
                self.add("Add", [self.values[-1][0], self.floats([out])], [])
            return self.values[-1][0]

        def step(op, inputs, **attributes):
            self.add(op, inputs, [], **attributes)
            return self.values[-1][0]

        def reshaped(value, *to):
            return step("Reshape", [value, self.constant(np.array(to, np.int64))])

        def headed(value, count, tokens, perm):
            return step("Transpose", [reshaped(value, first, tokens, count, depth)], perm=perm)

        before = len(self.values)
        q, k, v = linear(x, shape[2], heads * depth), linear(other, keys[2], shared * depth), linear(other, keys[2], shared * depth)
        scale, place = np.array(depth ** -0.5, np.float32), self.rng.integers(5)
        if place == 0:
            q = step("Mul", [q, self.constant(scale)])
        q = headed(q, heads, rows, [0, 2, 1, 3])
        k = headed(k, shared, columns, [0, 2, 3, 1])
        v = headed(v, shared, columns, [0, 2, 1, 3])
        if place == 1:
            q, k = (step("Mul", [self.constant(np.sqrt(scale)), i]) for i in (q, k))
        flat = first > 0 and shared == heads and some() < 0.3
        if flat:
            q, k, v = reshaped(q, first * heads, rows, depth), reshaped(k, first * heads, depth, columns), reshaped(v, first * heads, columns, depth)
        scores = step("MatMul", [q, k])
        if place in (2, 3):
            scores = step("Div" if place == 2 else "Mul", [scores, self.constant(1 / scale if place == 2 else scale)])
        if flat and some() < 0.5:
            scores = reshaped(scores, first, heads, rows, columns)
        if some() < 0.5:
            scores = step("Add", [scores, self.floats([rows, columns])])
        if some() < 0.3:
            scores = step("Add", [self.floats([1 if flat else heads, 1, columns]), scores])
        if some() < 0.4:
            seen = self.constant(self.rng.random([1, columns]) < 0.7)
            scores = step("Where", [seen, scores, self.constant(np.array(self.rng.choice([-10000, np.finfo(np.float32).min]), np.float32))])
        if some() < 0.1:
            scores = step("Mul", [scores, self.constant(np.array(0.5, np.float32))])
        scores = step("Softmax", [scores], axis=-1)
        if flat:
            scores = reshaped(scores, first * heads, rows, columns)
        y = step("MatMul", [scores, v])
        if flat:
            y = reshaped(y, first, heads, rows, depth)
        y = step("Transpose", [y], perm=[0, 2, 1, 3])
        y = reshaped(y, first, rows, heads * depth)
        kept = self.values[before:] if some() < 0.1 else []
        del self.values[before:]
        self.values.append((y, [batch, rows, heads * depth]))
        if kept and len(self.nodes) and some() < 0.5:  # the weights are an output, too
            self.values.append((scores, [first * heads, rows, columns] if flat else [batch, heads, rows, columns]))

    def image(self):
        return self.pick(lambda s: len(s) == 4 and "n" not in s[1:] and max(s[1:]) < 80)

    def window(self):
        x, shape = self.image()
        if x is None:
            return
        small = self.rng.random() < 0.3
        kernel = [1, 1] if small else [int(self.rng.integers(1, 1 + min(s, 5))) for s in shape[2:]]
        strides = [int(s) for s in self.rng.integers(1, 3, 2)]
        pads = [0] * 4 if small else [int(self.rng.integers(0, k)) for k in kernel * 2]
        dilations = [2 if s >= 2 * k and self.rng.random() < 0.3 else 1 for s, k in zip(shape[2:], kernel)]
        kind = self.rng.integers(5)
        if kind > 1:  # the reference evaluator has no others
            pads, dilations = (pads[:2] if kind == 2 else [min(*pads[:2], *[k - 1 for k in kernel])] * 2) * 2, [1, 1]
        image = [(s + p + q - (k - 1) * d - 1) // t + 1 for s, p, q, k, d, t in zip(shape[2:], pads[:2], pads[2:], kernel, dilations, strides)]
        common = {"kernel_shape": kernel, "strides": strides, "pads": pads}
        out = int(self.rng.choice([1, 4, 9, 16, 24, 40]))
        if kind == 0:
            self.add("Conv", [x, self.floats([out, shape[1], *kernel]), self.floats([out])], [shape[0], out, *image], dilations=dilations, **common)
            if self.rng.random() < 0.5:
                parts = [self.floats([out]), self.floats([out]), self.floats([out]), self.constant(self.rng.random(out).astype(np.float32) + 0.5)]
                self.add("BatchNormalization", [self.values[-1][0], *parts], self.values[-1][1])
        elif kind == 1:
            each = int(self.rng.integers(1, 4))
            self.add("Conv", [x, self.floats([each * shape[1], 1, *kernel])], [shape[0], each * shape[1], *image], group=shape[1],
                     dilations=dilations, **common)
        elif kind == 2:
            image = [(s - 1) * t + k - p - q for s, k, t, p, q in zip(shape[2:], kernel, strides, pads[:2], pads[2:])]
            if self.rng.random() < 0.5:
                common = {"kernel_shape": strides, "strides": strides}
                image = [s * t for s, t in zip(shape[2:], strides)]
            if min(image) > 0:
                self.add("ConvTranspose", [x, self.floats([shape[1], out, *common["kernel_shape"]]), self.floats([out])], [shape[0], out, *image], **common)
        elif min(image) > 0:
            self.add(str(self.rng.choice(["MaxPool", "AveragePool"])), [x], [*shape[:2], *image], **common)

    def of_images(self):
        """What stands between convolutions."""
        x, shape = self.image()
        if x is None:
            return
        kind = self.rng.integers(6)
        if kind == 0:
            scales = self.constant(np.array([1, 1, 2, 2], np.float32))
            mode = str(self.rng.choice(["nearest", "linear"]))
            self.add("Resize", [x, "", scales], [*shape[:2], 2 * shape[2], 2 * shape[3]], mode=mode, coordinate_transformation_mode="asymmetric",
                     **({"nearest_mode": "floor"} if mode == "nearest" else {}))
        elif kind == 1:
            y, other = self.pick(lambda s: len(s) == 4 and [s[0], *s[2:]] == [shape[0], *shape[2:]])
            self.add("Concat", [x, y, x], [shape[0], 2 * shape[1] + other[1], *shape[2:]], axis=1)
        elif kind == 2:  # a gate of each channel
            self.add("GlobalAveragePool", [x], [*shape[:2], 1, 1])
            self.add("Conv", [self.values[-1][0], self.floats([shape[1], shape[1], 1, 1])], [*shape[:2], 1, 1])
            self.add("HardSigmoid", [self.values[-1][0]], [*shape[:2], 1, 1])
            self.add("Mul", [x, self.values[-1][0]], shape)
        elif kind == 3 and shape[1] > 2:
            parts = self.constant(np.array([1, shape[1] - 1], np.int64))
            a, b = self.name(), self.name()
            self.nodes.append(helper.make_node("Split", [x, parts], [a, b], name=f"Split_{a}", axis=1))
            self.values += [(a, [shape[0], 1, *shape[2:]]), (b, [shape[0], shape[1] - 1, *shape[2:]])]
        elif kind == 4:
            self.add("PRelu", [x, self.floats([shape[1], 1, 1])], shape)
        else:  # a row of tokens
            first = -1 if shape[0] == "n" else shape[0]
            pixels = shape[2] * shape[3]
            self.add("Reshape", [x, self.constant(np.array([first, shape[1], pixels], np.int64))], [*shape[:2], pixels])
            self.add("Transpose", [self.values[-1][0]], [shape[0], pixels, shape[1]], perm=[0, 2, 1])

    def reshape(self):
        x, shape = self.pick(lambda s: len(s) > 2 and "n" not in s[1:])
        if x is None:
            return
        rest = int(np.prod(shape[1:]))
        first = -1 if shape[0] == "n" else shape[0]
        self.add("Reshape", [x, self.constant(np.array([first, rest], np.int64))], [shape[0], rest])

    def joined(self):
        x, shape = self.pick(lambda s: "n" not in s[1:])
        if x is None:
            return
        y, same = self.pick(lambda s: s == shape)
        if len(shape) < 2 or not same:
            return
        axis = int(self.rng.integers(1, len(shape)))
        self.add("Concat", [x, y], [2 * s if d == axis else s for d, s in enumerate(shape)], axis=axis)
        if self.rng.random() < 0.5:
            self.add("Sigmoid", [self.values[-1][0]], self.values[-1][1])

    def chosen(self):
        """The largest of a dimension, or some rows that are others."""
        x, shape = self.pick(lambda s: len(s) > 1 and s[1] != "n")
        if x is None:
            return
        if self.rng.random() < 0.5:
            some = int(self.rng.integers(1, shape[1] + 1))
            values, places = self.name(), self.name()
            self.nodes.append(helper.make_node("TopK", [x, self.constant(np.array([some]))], [values, places], name=f"TopK_{values}", axis=1))
            self.values.append((values, [shape[0], some, *shape[2:]]))
        elif "n" not in shape[1:]:
            self.add("ScatterElements", [x, self.constant(self.rng.integers(-shape[1], shape[1], [1] * len(shape))), self.floats([1] * len(shape))], shape,
                     axis=1, reduction="add")

    def norm(self):
        x, shape = self.pick(lambda s: len(s) > 1 and s[-1] not in ("n", 1))
        if x is not None:
            self.add("LayerNormalization", [x, self.floats([shape[-1]]), self.floats([shape[-1]])], shape, axis=-1)

    def gathered(self):
        x, shape = self.pick(lambda s: s[-1] != "n")
        if x is None:
            return
        indices = self.rng.integers(-shape[-1], shape[-1], 4).astype(np.int64)
        self.add("Gather", [x, self.constant(indices)], [*shape[:-1], 4], axis=len(shape) - 1)

    def choice(self):
        x, shape = self.pick()
        limit = self.floats([1])
        mask = self.name("mask")
        self.nodes.append(helper.make_node("Less", [x, limit], [mask], name=f"Less_{mask}"))
        self.add("Where", [mask, x, self.floats([1])], shape)


def draw(rng, prefix):
    d = Draw(rng, prefix)
    for _ in range(rng.integers(1, 3)):
        d.input()
    for _ in range(rng.integers(3, 9)):
        d.step()
    used = {i for n in d.nodes for i in n.input}
    outputs = [(n, support.FLOAT, s) for n, s in d.values if n not in used and n not in {i[0] for i in d.inputs}]
    return d, outputs


def content(nodes):
    """What is in a graph: its ops, those of their attributes that change what reads them, and chains of two and three ops."""
    made = {o: n for n in nodes for o in n.output}
    found = set()
    for n in nodes:
        found.add((n.op_type, *((a.name, a.i) for a in n.attribute if a.name in ("axis", "exclusive", "keepdims", "reverse", "to"))))
        for before in (made[i] for i in n.input if i in made):
            found.add((before.op_type, n.op_type))
            found |= {(made[i].op_type, before.op_type, n.op_type) for i in before.input if i in made}
    return found


def graphs(rng):
    """COUNT graphs as they are drawn, or of OF graphs those that have most that the ones before lack; an op counts as eight chains. What a
    graph costs is its nodes, of which the square root counts: fewer would be left of those with long chains otherwise."""
    drawn = [(d, o, content(d.nodes)) for d, o in (draw(rng, f"g{i}_") for i in range(max(COUNT, OF))) if o]
    if not OF:
        return [(d, o) for d, o, _ in drawn]
    chosen, seen = [], set()

    def worth(graph):
        d, _, has = graph
        return sum(8 if len(c) == 1 else 1 for c in has - seen) / len(d.nodes) ** 0.5

    for _ in range(COUNT):
        best = max(range(len(drawn)), key=lambda i: worth(drawn[i]))
        d, o, has = drawn.pop(best)
        chosen.append((d, o))
        seen |= has
    return chosen


def in_doubles(path):
    """The reference evaluator of a model whose floats are of 64 bits."""
    model = onnx.load(path)
    for t in model.graph.initializer:
        if t.data_type == support.FLOAT:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float64), t.name))
    for a in (a for n in model.graph.node if n.op_type == "Cast" for a in n.attribute if a.i == support.FLOAT):
        a.i = TensorProto.DOUBLE
    for v in [*model.graph.input, *model.graph.output]:
        v.type.tensor_type.elem_type = TensorProto.DOUBLE
    return ReferenceEvaluator(model)


def distance(wanted, got):
    """In epsilons of the largest element."""
    largest = max(1.0, float(np.abs(wanted).max(initial=0)))
    return float(np.abs(wanted.astype(np.float64) - got).max(initial=0)) / largest / EPSILON


def roundings(path, feed, place, rng):
    """How far the reference in f32 is off that in f64 at an output, for inputs that are nearly the same: with attention of attention a score of 1000
    is an exponent, and its last bit a factor."""
    narrow, wide = ReferenceEvaluator(path), in_doubles(path)
    nearly = [{k: v * (1 + rng.choice([-1, 1], v.shape).astype(np.float32) * np.float32(2.0 ** -23)) for k, v in feed.items()} for _ in range(4)]
    return max(distance(wide.run(None, {k: v.astype(np.float64) for k, v in f.items()})[place], narrow.run(None, f)[place]) for f in [feed, *nearly])


def compare(path, rng, report, model):
    reference = ReferenceEvaluator(path)
    for n in (Draw.N, 1):
        feed = {a["name"]: rng.standard_normal([n if s == "n" else int(s) for s in a["shape"]]).astype(np.float32) for a in report["inputs"]}
        if n != Draw.N and not report["dimensions"]:
            break
        wanted, got = reference.run(None, feed), model(feed, n=n)
        for place, (w, g, a) in enumerate(zip(wanted, got, report["outputs"])):
            if w.shape != g.shape:
                print(f"{path}: {a['name']} has the shape {g.shape}, the reference {w.shape}")
                return False
            off = distance(w, g)
            if not off <= EPSILONS and not (off < MOST_EPSILONS and off <= TIMES_ROUNDINGS * roundings(path, feed, place, rng)):
                print(f"{path}: {a['name']} with n = {n} is off by {off:.0f} epsilons of its largest element")
                return False
    return True


def main():
    rng = np.random.default_rng(SEED)
    failed, models = 0, 0
    all_of_them = graphs(rng)
    for batch in range((PART - 1) * TOGETHER, len(all_of_them), PARTS * TOGETHER):
        drawn = all_of_them[batch:batch + TOGETHER]
        models += 1
        with support.folder() as f:
            path = support.save(pathlib.Path(f) / "fuzz.onnx", [n for d, _ in drawn for n in d.nodes], [i for d, _ in drawn for i in d.inputs],
                                [o for _, outs in drawn for o in outs], [c for d, _ in drawn for c in d.constants])
            target = [*(["--target", "cuda", "--devices", "emulator"] if ON_DEVICE else []), *(["--type", TYPE] if TYPE else [])]
            done = support.halyard("compile", path, "-o", f, "--name", "fuzz", "--quiet", *target)
            right = done.returncode == 0
            if right:
                model = (support.DeviceModel if ON_DEVICE else support.Model)(f, "fuzz")
                try:
                    right = compare(path, rng, model.report, model)
                except RuntimeError as e:
                    right, done.stderr = False, str(e)
            if not right:
                failed += 1
                kept = pathlib.Path(os.environ.get("HALYARD_MODELS_KEEP", "/tmp")) / f"halyard-fuzz-{SEED}-{batch}.onnx"
                kept.write_bytes(pathlib.Path(path).read_bytes())
                print(f"seed {SEED}, graphs from {batch} on fail; the model is {kept}\n{done.stderr}")
    print(f"{models} models of {TOGETHER} graphs, {failed} failed")
    sys.exit(1 if failed or not models else 0)


if __name__ == "__main__":
    main()

"""Steps of random graphs, by ops that stand in most models once or not at all: a method for each kind, of which `other` draws one."""

import numpy as np
from onnx import helper

# Functions of any number; those behind JUMPS have steps, beside which roundings decide.
FUNCTIONS = [("Sin", {}), ("Cos", {}), ("Atan", {}), ("Asinh", {}), ("Softsign", {}), ("Selu", {}), ("Celu", {"alpha": 0.7}), ("LeakyRelu", {"alpha": 0.2}),
             ("Elu", {"alpha": 0.5}), ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}), ("Identity", {}), ("Exp", {}), ("Sinh", {}), ("Cosh", {})]
JUMPS = [("ThresholdedRelu", {"alpha": 0.3}), ("Shrink", {"bias": 0.1, "lambd": 0.4}), ("Ceil", {}), ("Round", {}), ("Sign", {})]
GROWS = ("Exp", "Sinh", "Cosh")  # of a number between -2 and 2


class Ops:
    """Of a Draw (fuzz_test.py)."""

    def other(self):
        steps = [self.function, self.of_positive, self.of_many, self.sums, self.first_of, self.running, self.norm_of_channels, self.padded, self.repeated,
                 self.parted, self.blocks, self.triangle, self.looked_up, self.scattered, self.reversed, self.recurrent, self.gemm, self.sampled, self.one_hot,
                 self.bounded, self.squeezed, self.looked_up_by_data]
        jumps = (self.first_of, self.one_hot, self.looked_up_by_data)
        step = steps[self.rng.integers(len(steps))]
        if not (self.rounds and step in jumps):
            step()

    def numbers(self, *values):
        return self.constant(np.array(values, np.int64))

    def last(self):
        return self.values[-1]

    def bound(self, x, shape, least=-2.0, most=2.0):
        self.add("Clip", [x, self.constant(np.float32(least)), self.constant(np.float32(most))], shape)
        return self.last()[0]

    def given(self):
        """An input: what was computed may lie where a jump is, as two equal sums do, and then its last bit decides."""
        name, _, shape = self.inputs[self.rng.integers(len(self.inputs))]
        return name, shape

    def function(self):
        x, shape = self.pick()
        table = FUNCTIONS + ([] if self.rounds else JUMPS)
        op, attributes = table[self.rng.integers(len(table))]
        if (op, attributes) in JUMPS:
            x, shape = self.given()
        self.add(op, [self.bound(x, shape) if op in GROWS else x], shape, **attributes)

    def bounded(self):
        x, shape = self.pick()
        least = self.constant(np.float32(-0.5)) if self.rng.random() < 0.7 else ""
        self.add("Clip", [x, least, self.constant(np.float32(0.8))], shape)

    def of_positive(self):
        """Roots, logarithms, powers and quotients, of numbers from a half on."""
        x, shape = self.pick()
        self.add("Abs", [x], shape)
        self.add("Add", [self.last()[0], self.constant(np.float32(0.5))], shape)
        positive, op = self.last()[0], str(self.rng.choice(["Sqrt", "Log", "Reciprocal", "Pow", "Div"]))
        if op == "Pow":
            self.add(op, [positive, self.constant(np.float32(self.rng.choice([2.0, 0.5, 3.0, -1.0, 1.3])))], shape)
        elif op == "Div":
            self.add(op, [x, positive], shape)
        else:
            self.add(op, [positive], shape)

    def of_many(self):
        x, shape = self.pick()
        y, same = self.pick(lambda s: s == shape)
        self.add(str(self.rng.choice(["Sum", "Mean", "Max", "Min"])), [x, self.floats([1] * len(shape)), y], shape)

    def sums(self):
        x, shape = self.pick(lambda s: len(s) > 1)
        if x is None:
            return
        axis, keep = int(self.rng.integers(1, len(shape))), int(self.rng.integers(2))
        op = str(self.rng.choice(["ReduceSum", "ReduceL1", "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd", "ReduceLogSum"]))
        if op == "ReduceProd":
            x = self.bound(x, shape, -1.5, 1.5)
        elif op == "ReduceLogSum":
            self.add("Exp", [self.bound(x, shape)], shape)
            x = self.last()[0]
        made = [1 if d == axis else s for d, s in enumerate(shape) if keep or d != axis]
        if op == "ReduceSum":  # its axes are an input from opset 13 on
            self.add(op, [x, self.numbers(axis)], made, keepdims=keep)
        else:
            self.add(op, [x], made, axes=[axis], keepdims=keep)

    def first_of(self):
        x, shape = self.given()
        axis, keep = int(self.rng.integers(1, len(shape))), int(self.rng.integers(2))
        self.add(str(self.rng.choice(["ArgMax", "ArgMin"])), [x], [], axis=axis, keepdims=keep)
        self.add("Cast", [self.values.pop()[0]], [1 if d == axis else s for d, s in enumerate(shape) if keep or d != axis], to=1)

    def running(self):
        x, shape = self.pick()
        axis = self.constant(np.array(self.rng.integers(len(shape)), np.int64))
        self.add("CumSum", [x, axis], shape, exclusive=int(self.rng.integers(2)), reverse=int(self.rng.integers(2)))

    def norm_of_channels(self):
        x, shape = self.pick(lambda s: len(s) > 2 and "n" not in s[1:])
        if x is None:
            return
        if self.rng.random() < 0.5:
            self.add("InstanceNormalization", [x, self.floats([shape[1]]), self.floats([shape[1]])], shape, epsilon=0.01)
        else:
            parts = [self.floats([shape[1]]), self.floats([shape[1]]), self.floats([shape[1]]), self.constant(self.rng.random(shape[1]).astype(np.float32) + 0.5)]
            self.add("BatchNormalization", [x, *parts], shape)

    def padded(self):
        x, shape = self.pick(lambda s: len(s) > 1)
        if x is None:
            return
        mode = str(self.rng.choice(["constant", "edge", "reflect"]))
        before, after = ([int(self.rng.integers(0, 3)) if s != "n" and (mode != "reflect" or s > 2) else 0 for s in shape] for _ in range(2))
        more = [self.constant(np.float32(0.25))] if mode == "constant" else []
        self.add("Pad", [x, self.numbers(*before, *after), *more], [s if s == "n" else s + p + q for s, p, q in zip(shape, before, after)], mode=mode)

    def repeated(self):
        x, shape = self.pick(lambda s: len(s) < 5)
        if self.rng.random() < 0.5:
            times = [int(self.rng.integers(1, 4)) if s != "n" else 1 for s in shape]
            self.add("Tile", [x, self.numbers(*times)], [s if s == "n" else s * t for s, t in zip(shape, times)])
        else:
            wide = [3 if s == 1 else s for s in shape]
            self.add("Expand", [x, self.numbers(2, *[1 if s == "n" else s for s in wide])], [2, *wide])

    def parted(self):
        x, shape = self.pick(lambda s: len(s) > 1 and s[-1] != "n" and s[-1] > 2)
        if x is None:
            return
        first = int(self.rng.integers(1, shape[-1]))
        names = [self.name(), self.name()]
        self.nodes.append(helper.make_node("Split", [x, self.numbers(first, shape[-1] - first)], names, name=f"Split_{names[0]}", axis=-1))
        self.values += [(n, [*shape[:-1], s]) for n, s in zip(names, (first, shape[-1] - first))]

    def squeezed(self):
        x, shape = self.pick(lambda s: 1 < len(s) < 5)
        if x is None:
            return
        ones = [d for d, s in enumerate(shape) if s == 1]
        if ones:
            self.add("Squeeze", [x, self.numbers(ones[0])], [s for d, s in enumerate(shape) if d != ones[0]])
        else:
            at = int(self.rng.integers(len(shape) + 1))
            self.add("Unsqueeze", [x, self.numbers(at)], [*shape[:at], 1, *shape[at:]])

    def blocks(self):
        x, shape = self.pick(lambda s: len(s) == 4 and "n" not in s[1:])
        if x is None:
            return
        if shape[1] % 4 == 0:
            self.add("DepthToSpace", [x], [shape[0], shape[1] // 4, 2 * shape[2], 2 * shape[3]], blocksize=2, mode=str(self.rng.choice(["DCR", "CRD"])))
        elif shape[2] % 2 == 0 and shape[3] % 2 == 0:
            self.add("SpaceToDepth", [x], [shape[0], shape[1] * 4, shape[2] // 2, shape[3] // 2], blocksize=2)

    def triangle(self):
        x, shape = self.pick(lambda s: len(s) > 1)
        if x is not None:
            self.add("Trilu", [x, self.constant(np.array(self.rng.integers(-2, 3), np.int64))], shape, upper=int(self.rng.integers(2)))

    def looked_up(self):
        x, shape = self.pick(lambda s: len(s) > 1 and "n" not in s[1:])
        if x is None:
            return
        axis, kind = int(self.rng.integers(1, len(shape))), self.rng.integers(3)
        size = shape[axis]
        if kind == 0:
            indices = self.rng.integers(-size, size, [2, 3] if len(shape) < 5 else [2]).astype(np.int64)
            self.add("Gather", [x, self.constant(indices)], [*shape[:axis], *indices.shape, *shape[axis + 1:]], axis=axis)
        elif kind == 1 and shape[0] != "n":
            indices = self.rng.integers(-size, size, [s if d != axis else 2 for d, s in enumerate(shape)]).astype(np.int64)
            self.add("GatherElements", [x, self.constant(indices)], list(indices.shape), axis=axis)
        elif shape[0] != "n":
            indices = np.stack([self.rng.integers(0, s, [3]) for s in shape[:2]], 1).astype(np.int64)
            self.add("GatherND", [x, self.constant(indices)], [3, *shape[2:]])

    def looked_up_by_data(self):
        """Rows of a table, which the largest elements choose."""
        x, shape = self.given()
        if shape[-1] == "n":
            return
        self.add("ArgMax", [x], [], axis=-1, keepdims=0)
        self.add("Gather", [self.floats([shape[-1], 6]), self.values.pop()[0]], [*shape[:-1], 6])

    def scattered(self):
        x, shape = self.pick(lambda s: len(s) > 1 and "n" not in s)
        if x is not None:
            rows = self.rng.permutation(shape[0])[:max(1, shape[0] // 2)]
            self.add("ScatterND", [x, self.constant(rows.astype(np.int64)[:, None]), self.floats([len(rows), *shape[1:]])], shape)

    def reversed(self):
        x, shape = self.pick(lambda s: len(s) > 1 and "n" not in s[:2])
        if x is not None:
            self.add("ReverseSequence", [x, self.constant(self.rng.integers(1, shape[0] + 1, shape[1]).astype(np.int64))], shape, time_axis=0, batch_axis=1)

    def recurrent(self):
        """Over few steps, as each is a kernel or more."""
        x, shape = self.pick(lambda s: len(s) == 3 and "n" not in s and s[0] < 5)
        if x is None:
            return
        op, hidden = str(self.rng.choice(["LSTM", "GRU", "RNN"])), int(self.rng.choice([3, 8]))
        gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
        weights = [self.floats([1, gates * hidden, shape[2]]), self.floats([1, gates * hidden, hidden]), self.floats([1, 2 * gates * hidden])]
        self.add(op, [x, *weights], [shape[0], 1, shape[1], hidden], hidden_size=hidden, **({"linear_before_reset": 1} if op == "GRU" else {}))

    def gemm(self):
        x, shape = self.pick(lambda s: len(s) == 2 and s[-1] != "n")
        if x is None:
            return
        columns, turned = int(self.rng.choice([1, 7, 32])), int(self.rng.integers(2))
        weights = self.floats([columns, shape[1]] if turned else [shape[1], columns])
        self.add("Gemm", [x, weights, *([self.floats([columns])] if self.rng.random() < 0.6 else [])], [shape[0], columns], transB=turned, alpha=0.5, beta=2.0)

    def sampled(self):
        """By the nearest element: what lies between is "bilinear" in this opset, which the reference evaluator does not know."""
        x, shape = self.pick(lambda s: len(s) == 4 and "n" not in s)
        if x is not None:
            grid = self.constant(self.rng.uniform(-1.2, 1.2, [shape[0], 3, 4, 2]).astype(np.float32))
            padding = str(self.rng.choice(["zeros", "border"]))
            self.add("GridSample", [x, grid], [*shape[:2], 3, 4], mode="nearest", padding_mode=padding, align_corners=int(self.rng.integers(2)))

    def one_hot(self):
        x, shape = self.given()
        self.add("Hardmax", [x], shape, axis=int(self.rng.integers(1, len(shape))))

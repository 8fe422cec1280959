"""What ops compute at the ends: infinities, rows from the end, indices beyond, outputs that are left out, shapes and sizes of a call."""

import ctypes
import sys
import unittest

import numpy as np
import onnx
import support
from compile_case import Compile
from onnx import helper
from onnx.reference import ReferenceEvaluator
from support import FLOAT, INT64


class Values(Compile):
    def test_infinities_are_found(self):
        """Among inputs, and among what the same kernel computes; NaN of either sign is none, and rows that are masked as a whole are found."""
        def node(op, inputs, output, **attributes):
            return helper.make_node(op, inputs, [output], name=output, **attributes)
        nodes = [node("Mul", ["x", "two"], "d"), node("Add", ["x", "x"], "e"), node("Mul", ["d", "e"], "f"), node("Neg", ["f"], "g")]
        outputs = []
        for value in ("x", "d", "f", "g"):
            for op, inputs, attributes in (("Equal", ["least"], {}), ("Equal", ["most"], {}), ("Less", ["most"], {}), ("LessOrEqual", ["least"], {}),
                                           ("Greater", ["least"], {}), ("IsInf", [], {}), ("IsInf", [], {"detect_negative": 0}),
                                           ("IsInf", [], {"detect_positive": 0}), ("IsNaN", [], {})):
                outputs.append(f"{value}_{op}_{len(outputs)}")
                nodes.append(node(op, [value, *inputs], outputs[-1], **attributes))
        nodes += [node("ReduceMax", ["x"], "top", axes=[1], keepdims=1), node("Equal", ["top", "least"], "none_seen"),
                  node("Where", ["none_seen", "zero", "x"], "rows")]
        constants = [("two", 2.0), ("least", -np.inf), ("most", np.inf), ("zero", 0.0)]
        path = support.save(self.folder / "inf.onnx", nodes, [("x", FLOAT, ["n", 9])],
                            [(o, onnx.TensorProto.BOOL, ["n", 9]) for o in outputs] + [("rows", FLOAT, ["n", 9])],
                            [(n, np.array(v, np.float32)) for n, v in constants])
        done = support.halyard("compile", path, "--name", "mlp", "-o", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        most = np.finfo(np.float32).max
        x = np.array([[np.inf, -np.inf, np.nan, -np.nan, most, -most, 0, -0.0, 1e-40], [-np.inf] * 9, [2, -2, 1e38, -1e38, 3e19, -3e19, 1, 1, 1]], np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            wanted = ReferenceEvaluator(path).run(None, {"x": x})
        for name, w, g in zip([*outputs, "rows"], wanted, support.Model(self.folder / "out", "mlp")({"x": x}, n=3)):
            np.testing.assert_array_equal(g, w, err_msg=name)

    def test_arrays_over_each_other(self):
        """A call that would read what it has stored is an error, and stores nothing; arrays beside each other are right."""
        model = self.compiled()
        given, needed = model.measured(rows=4)
        x, y, mean, workspace = 0, 4096, 8192, 12288
        for name, places in (("y", (x, x, mean, workspace)), ("y", (x, x + 76, mean, workspace)), ("mean", (x, y, y, workspace)),
                             ("mean", (x, y, y + 4 * 28 - 1, workspace)), ("workspace", (x, y, mean, 64)), ("workspace", (x, y, mean, y)), (None, (x, x + 80, x + 192, workspace))):
            memory = np.zeros(65536 + 64, np.uint8)
            begin = (memory.ctypes.data + 63) // 64 * 64
            memory[begin - memory.ctypes.data:][:80] = self.x.view(np.uint8).reshape(-1)
            before = memory.copy()
            pointers = (ctypes.c_void_p * 3)(*[begin + p for p in places[:3]])
            code = model.function("run")(model.model, given, pointers, ctypes.c_void_p(begin + places[3]))
            if name == "workspace" and needed[0] == 0:
                continue
            if name:
                self.assertNotEqual(code, 0, places)
                self.assertIn(f"mlp: the {'output ' if name != 'workspace' else ''}{name} shares memory", model.library.halyard_last_error().decode())
                np.testing.assert_array_equal(memory, before)
            else:
                model.check(code)
                got = memory[begin - memory.ctypes.data + places[1]:][:112].view(np.float32).reshape(4, 7)
                np.testing.assert_allclose(got, self.wanted(self.x)[0], rtol=1e-5)

    def test_outputs_that_are_left_out_or_the_same(self):
        """An output without a name is no input that is left out, and a value that is two outputs is in both arrays."""
        nodes = [helper.make_node("Split", ["x", "parts"], ["", "rest"], axis=1), helper.make_node("Clip", ["z", "", "most"], ["y"]),
                 helper.make_node("Identity", ["y"], ["same"])]
        path = support.save(self.folder / "left.onnx", nodes, [("x", FLOAT, ["n", 3]), ("z", FLOAT, ["n", 1])],
                            [("rest", FLOAT, ["n", 2]), ("y", FLOAT, ["n", 1]), ("same", FLOAT, ["n", 1]), ("y", FLOAT, ["n", 1])],
                            [("parts", np.array([1, 2], np.int64)), ("most", np.array(0.5, np.float32))])
        done = support.halyard("compile", path, "--name", "mlp", "-o", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        x, z = np.full([2, 3], 7, np.float32), np.array([[-1], [1]], np.float32)
        rest, *others = support.Model(self.folder / "out", "mlp")({"x": x, "z": z}, n=2)
        np.testing.assert_array_equal(rest, x[:, 1:])
        for y in others:
            np.testing.assert_array_equal(y, np.minimum(z, 0.5))

    def test_many_arrays_behind_each_other(self):
        """More than one kernel puts behind each other."""
        names = [("a", "b")[i % 2] for i in range(66)]
        path = support.save(self.folder / "many.onnx", [helper.make_node("Concat", names, ["wide"], axis=1)],
                            [("a", FLOAT, ["n", 3]), ("b", FLOAT, ["n", 2])], [("wide", FLOAT, ["n", 165])])
        done = support.halyard("compile", path, "--name", "mlp", "-o", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 groups", done.stdout + done.stderr)
        x = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": -np.ones([2, 2], np.float32)}
        wide, = support.Model(self.folder / "out", "mlp")(x, n=2)
        np.testing.assert_array_equal(wide, np.concatenate([x[n] for n in names], 1))

    def test_rows_from_the_end(self):
        """CumSum of a row, from either end, with and without the element itself; slices that go backwards along the one row there is."""
        ways = [(e, r) for e in (0, 1) for r in (0, 1)]
        nodes = [helper.make_node("CumSum", ["x", "axis"], [f"y{e}{r}"], exclusive=e, reverse=r) for e, r in ways]
        nodes += [helper.make_node("Slice", ["x", "last", "first", "axes", "last"], ["back"]), helper.make_node("Concat", ["back", "x"], ["both"], axis=0),
                  helper.make_node("Slice", ["row", "last", "first", "axes1", "last"], ["turned"]), helper.make_node("Softmax", ["turned"], ["soft"])]
        path = support.save(self.folder / "sums.onnx", nodes, [("x", FLOAT, [7]), ("row", FLOAT, [1, 7])],
                            [(n.output[0], FLOAT, [7]) for n in nodes[:4]] + [("both", FLOAT, [14]), ("soft", FLOAT, [1, 7])],
                            [("axis", np.array(0, np.int64)), ("last", np.array([-1], np.int64)), ("first", np.array([-100], np.int64)),
                             ("axes", np.array([0], np.int64)), ("axes1", np.array([1], np.int64))])
        done = support.halyard("compile", path, "--name", "mlp", "-o", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        x = np.arange(1, 8, dtype=np.float32)
        *sums_, both, soft = support.Model(self.folder / "out", "mlp")({"x": x, "row": x[None]})
        np.testing.assert_array_equal(both, np.concatenate([x[::-1], x]))
        np.testing.assert_allclose(soft[0], (np.exp(x - 7) / np.exp(x - 7).sum())[::-1], rtol=1e-6)
        for (exclusive, reverse), got in zip(ways, sums_):
            sums = np.cumsum(x[::-1])[::-1] if reverse else np.cumsum(x)
            np.testing.assert_array_equal(got, sums - x if exclusive else sums)

    def test_rows_from_the_end_with_one_that_all_read(self):
        """A row that is added to all, as a bias, is read backwards without a loop around it."""
        rng, widths = np.random.default_rng(3), (2, 7, 16, 17, 33, 64, 70)
        nodes, constants = [], [(n, np.array([v], np.int64)) for n, v in (("last", -1), ("first", -100), ("axis", 2))]
        for w in widths:
            constants.append((f"bias{w}", rng.standard_normal([1, 1, w]).astype(np.float32)))
            nodes += [helper.make_node("Add", [f"x{w}", f"bias{w}"], [f"sum{w}"]),
                      helper.make_node("Slice", [f"sum{w}", "last", "first", "axis", "last"], [f"y{w}"])]
        path = support.save(self.folder / "turned.onnx", nodes, [(f"x{w}", FLOAT, ["n", 1, w]) for w in widths], [(f"y{w}", FLOAT, ["n", 1, w]) for w in widths],
                            constants)
        done = support.halyard("compile", path, "--name", "mlp", "-o", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        feed = {f"x{w}": rng.standard_normal([3, 1, w]).astype(np.float32) for w in widths}
        biases = dict(constants)
        for w, y in zip(widths, support.Model(self.folder / "out", "mlp")(feed, n=3)):
            np.testing.assert_array_equal(y, (feed[f"x{w}"] + biases[f"bias{w}"])[..., ::-1])

    def test_indices_and_sums_beyond(self):
        """OneHot of what is none of its depth is off everywhere; the logarithm of a sum with infinity in it, or of nothing but -infinity;
        remainders of large numbers, and a NaN among two that one is picked of; constants that compilers must not compute with."""
        nodes = [helper.make_node("OneHot", ["i", "depth", "values"], ["hot"]), helper.make_node("OneHot", ["u", "depth", "values"], ["unsigned"]),
                 helper.make_node("ReduceLogSumExp", ["x", "axes"], ["sum"], keepdims=0), helper.make_node("Mod", ["a", "b"], ["rest"], fmod=1),
                 helper.make_node("Max", ["a", "b"], ["more"]), helper.make_node("Min", ["a", "b"], ["less"]), helper.make_node("Erf", ["a"], ["erf"]),
                 helper.make_node("HardSigmoid", ["b"], ["hard"], beta=1e20), helper.make_node("Add", ["b", "nan"], ["none"])]
        pairs = [(n, FLOAT, [8]) for n in ("rest", "more", "less", "erf", "hard", "none")]
        path = support.save(self.folder / "beyond.onnx", nodes, [("i", INT64, [6]), ("u", onnx.TensorProto.UINT8, [3]), ("x", FLOAT, [4, 3]),
                                                                 ("a", FLOAT, [8]), ("b", FLOAT, [8])],
                            [("hot", FLOAT, [6, 3]), ("unsigned", FLOAT, [3, 3]), ("sum", FLOAT, [4]), *pairs],
                            [("depth", np.array(3, np.int64)), ("values", np.array([0, 1], np.float32)), ("axes", np.array([1], np.int64)), ("nan", np.float32(np.nan))], opset=18)
        done = support.halyard("compile", path, "--name", "mlp", "-o", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        inf = np.inf
        x = np.array([[1, inf, -inf], [-inf, -inf, -inf], [0, -inf, 0], [1, np.nan, inf]], np.float32)
        a, b = np.array([[1e8, 1e30, -7, np.nan, 1, 2, -1e8, np.nan], [3, 7, 3, 1, np.nan, inf, 3, np.nan]], np.float32)
        hot, unsigned, sums, rest, more, less, erf, hard, none = support.Model(self.folder / "out", "mlp")(
            {"i": np.array([2, 3, -1, -3, -4, -(1 << 63)], np.int64), "u": np.array([0, 3, 255], np.uint8), "x": x, "a": a, "b": b})
        np.testing.assert_array_equal(rest, np.fmod(a, b))
        np.testing.assert_array_equal(more, np.maximum(a, b))
        np.testing.assert_array_equal(less, np.minimum(a, b))
        np.testing.assert_array_equal(np.isnan(erf), np.isnan(a))
        np.testing.assert_array_equal(hard[~np.isnan(b)], 1)
        self.assertTrue(np.isnan(none).all())
        np.testing.assert_array_equal(hot, np.array([[0, 0, 1], [0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]]))
        np.testing.assert_array_equal(unsigned, np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0]]))
        np.testing.assert_allclose(sums, [inf, -inf, np.log(2), np.nan], rtol=1e-6)

    def test_sizes_of_a_call(self):
        model = self.compiled("--dim", "rows=2..8")
        with self.assertRaisesRegex(RuntimeError, "rows has to be from 2 to 8"):
            model({"x": self.x[:1]}, rows=1)
        fixed = self.compiled("--dim", "rows=4", out="fixed")
        self.assertEqual(fixed.report["dimensions"], [])
        np.testing.assert_allclose(fixed({"x": self.x})[0], self.wanted(self.x)[0], rtol=1e-5)
        self.assertIn("no free dimension of this name; it has rows\n", self.refused("--dim", "cols=4"))
        self.assertIn("--dim rows=5..2", self.refused("--dim", "rows=5..2"))

    def test_shapes_are_computed_before_a_call(self):
        """Shape, Gather, Concat and Reshape, as exporters write them, with a free dimension."""
        def ints(*v):
            return np.array(v, np.int64)
        nodes = [helper.make_node("Transpose", ["z"], ["x"], perm=[1, 0]), helper.make_node("Shape", ["x"], ["shape"]),
                 helper.make_node("Gather", ["shape", "zero"], ["n"], axis=0),
                 helper.make_node("Unsqueeze", ["n", "axis"], ["n1"]), helper.make_node("Concat", ["n1", "rest"], ["target"], axis=0),
                 helper.make_node("Reshape", ["x", "target"], ["r"]), helper.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 1]),
                 helper.make_node("Cast", ["n"], ["nf"], to=1), helper.make_node("Mul", ["t", "nf"], ["y"])]
        self.model = support.save(self.folder / "mlp.onnx", nodes, [("z", FLOAT, ["width", "n"])], [("y", FLOAT, ["i", "j", "k"])],
                                  [("zero", np.array(0, np.int64)), ("axis", ints(0)), ("rest", ints(2, -1))])
        model = self.compiled()
        self.assertEqual([d["name"] for d in model.report["dimensions"]], ["width", "n"])
        z = np.arange(30, dtype=np.float32).reshape(6, 5)
        wanted = ReferenceEvaluator(self.model).run(None, {"z": z})[0]
        np.testing.assert_array_equal(model({"z": z}, width=6, n=5)[0], wanted)
        with self.assertRaisesRegex(RuntimeError, "width"):
            model({"z": z[:5]}, width=5, n=5)


if __name__ == "__main__":
    sys.exit(unittest.main())

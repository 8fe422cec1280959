"""Quantised models: products of whole numbers of 8 bits, in the forms that quantisers write, are exact sums by gemm_int8."""

import pathlib
import sys
import unittest

import numpy as np
import support
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from support import FLOAT

IMAGE = 13  # channels
DEPTH, COLUMNS = 37, 50


class Quantized(unittest.TestCase):
    def setUp(self):
        made = support.folder()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.rng = np.random.default_rng(5)
        self.nodes, self.constants, self.outputs = [], [], []

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output] if isinstance(output, str) else output, **attributes))
        return output

    def constant(self, array):
        self.constants.append((f"c{len(self.constants)}", np.asarray(array)))
        return self.constants[-1][0]

    def scale(self, *shape):
        return self.constant(self.rng.uniform(0.01, 0.02, shape).astype(np.float32))

    def levels(self, type_, *shape):
        low = -127 if type_ == "int8" else 0
        return self.constant(self.rng.integers(low, low + 255, shape).astype(type_))

    def floats(self, *shape):
        return self.constant(self.rng.standard_normal(shape).astype(np.float32))

    def output(self, name, type_, shape):
        self.outputs.append((name, type_, shape))

    def qdq(self, name, rows, weights, zeros, per_column, relu, result):
        """x and constant weights around MatMul: their types, zero points, and what follows."""
        scale, zero = self.scale(), self.constant(np.array(zeros[0], rows))
        x = self.node("QuantizeLinear", ["x", scale, zero], f"{name}_q")
        x = self.node("DequantizeLinear", [x, scale, zero], f"{name}_x")
        columns = [COLUMNS] if per_column else []
        w = [self.levels(weights, DEPTH, COLUMNS), self.scale(*columns), self.constant(np.full(columns, zeros[1], weights))]
        y = self.node("MatMul", [x, self.node("DequantizeLinear", w, f"{name}_w", axis=1)], f"{name}_m")
        y = self.node("Add", [y, self.floats(COLUMNS)], f"{name}_b")
        y = self.node("Relu", [y], f"{name}_r") if relu else y
        if result:
            y = self.node("QuantizeLinear", [y, self.scale(), self.constant(np.array(100, result))], f"{name}_y")
        self.output(y, TensorProto.UINT8 if result else FLOAT, ["n", 3, COLUMNS])

    def dynamic(self, name, per_column, x):
        w = [self.levels("int8", DEPTH, COLUMNS), self.constant(np.zeros([COLUMNS] if per_column else [], np.int8))]
        sums = self.node("MatMulInteger", [x[0], w[0], x[2], w[1]], f"{name}_i")
        scale = self.node("Mul", [x[1], self.scale(*([COLUMNS] if per_column else [1]))], f"{name}_s")
        y = self.node("Mul", [self.node("Cast", [sums], f"{name}_f", to=1), scale], f"{name}_m")
        self.output(self.node("Add", [self.floats(COLUMNS), y], f"{name}_y"), FLOAT, ["n", 3, COLUMNS])

    def test_forms_of_quantisers(self):
        self.qdq("asymmetric", "uint8", "int8", (117, 0), True, True, "uint8")
        self.qdq("signed", "int8", "uint8", (-5, 128), False, False, "")
        self.qdq("too_wide", "int8", "uint8", (0, 11), False, False, "uint8")  # weights of 9 bits without their zero point
        x = self.node("DynamicQuantizeLinear", ["x"], ["levels", "level_scale", "level_zero"])
        self.dynamic("whole", False, x)
        self.dynamic("columns", True, x)
        linear = [x[0], self.scale(), self.constant(np.array(117, np.uint8)), self.levels("int8", DEPTH, COLUMNS), self.scale(),
                  self.constant(np.array(0, np.int8)), self.constant(np.float32(0.3)), self.constant(np.array(120, np.uint8))]
        self.output(self.node("QLinearMatMul", linear, "linear"), TensorProto.UINT8, ["n", 3, COLUMNS])
        image = self.node("Reshape", [x[0], self.constant(np.array([0, 3, 1, DEPTH]))], "image")
        self.output(self.node("ConvInteger", [image, self.levels("int8", 5, 3, 1, 3), x[2]], "window", pads=[0, 1, 0, 1], strides=[1, 2]),
                    TensorProto.INT32, ["n", 5, 1, 19])
        path = support.save(self.folder / "q.onnx", self.nodes, [("x", FLOAT, ["n", 3, DEPTH])], self.outputs, self.constants, opset=21)
        done = support.halyard("compile", path, "-o", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "q.lua").read_text().count('op = "gemm_int8"'), 5)
        model = support.Model(self.folder, "q")
        for n in (1, 4):
            feed = {"x": self.rng.standard_normal((n, 3, DEPTH)).astype(np.float32)}
            for (name, _, _), w, g in zip(self.outputs, ReferenceEvaluator(path).run(None, feed), model(feed, n=n)):
                if w.dtype == np.float32:
                    np.testing.assert_allclose(g, w, atol=4e-6 * np.abs(w).max(), err_msg=name)
                else:  # a level may be another where a sum in f32 lies between two
                    self.assertLessEqual(np.abs(g.astype(int) - w.astype(int)).max(), 0 if w.dtype == np.int32 else 1, name)
                    self.assertLess((g != w).mean(), 0.01, name)

    def quantized(self, x, type_, zero, name, scale=None):
        """x through QuantizeLinear and DequantizeLinear."""
        scale, zero = self.scale() if scale is None else self.constant(np.float32(scale)), self.constant(np.array(zero, type_))
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, scale, zero], f"{name}_levels"), scale, zero], name)

    def attention(self, name, types, zeros, heads, depth, moved_after):
        """With levels around both products, of heads that are moved before or after they are dequantised. The result is quantised, too."""
        def headed(x, perm, i):
            shape = self.constant(np.array([0, 0, heads, depth]))

            def move(x):
                return self.node("Transpose", [self.node("Reshape", [x, shape], f"{name}_{i}_split")], f"{name}_{i}_heads", perm=perm)
            if moved_after:
                return move(self.quantized(x, types[i], zeros[i], f"{name}_{i}", 0.03))
            return self.quantized(move(x), types[i], zeros[i], f"{name}_{i}", 0.03)
        q, k, v = headed("x", [0, 2, 1, 3], 0), headed("y", [0, 2, 3, 1], 1), headed("y", [0, 2, 1, 3], 2)
        scores = self.quantized(self.node("MatMul", [q, k], f"{name}_scores"), "uint8", 120, f"{name}_s", 0.2)
        scores = self.node("Div", [scores, self.constant(np.float32(depth ** 0.5))], f"{name}_scaled")
        weights = self.quantized(self.node("Softmax", [scores], f"{name}_w", axis=-1), types[3], zeros[3], f"{name}_p", 1 / 255)
        made = self.node("MatMul", [weights, v], f"{name}_made")
        made = self.node("Reshape", [self.node("Transpose", [made], f"{name}_back", perm=[0, 2, 1, 3]), self.constant(np.array([0, 0, heads * depth]))], f"{name}_rows")
        result = self.node("QuantizeLinear", [made, self.constant(np.float32(0.0213)), self.constant(np.array(117, np.uint8))], f"{name}_result")
        self.output(result, TensorProto.UINT8, ["n", None, heads * depth])

    def test_attention_of_levels(self):
        """Both products are sums of whole numbers, of heads that are moved before or behind their levels."""
        self.attention("before", ("uint8", "uint8", "uint8", "uint8"), (120, 131, 128, 0), 4, 12, False)
        self.attention("after", ("int8", "int8", "uint8", "int8"), (-3, 0, 100, -128), 3, 16, True)
        inputs = [("x", FLOAT, ["n", "rows", 48]), ("y", FLOAT, ["n", "keys", 48])]
        path = support.save(self.folder / "a.onnx", self.nodes, inputs, self.outputs, self.constants, opset=21)
        for target in ("host", "avx2"):
            done = support.halyard("compile", path, "-o", self.folder / target, "--target", target)
            self.assertEqual(done.returncode, 0, done.stderr)
            model = support.Model(self.folder / target, "a")
            for n, rows, keys in ((1, 1, 1), (2, 3, 5), (1, 16, 35), (1, 40, 33), (3, 129, 64)):
                feed = {"x": self.rng.standard_normal((n, rows, 48)).astype(np.float32), "y": self.rng.standard_normal((n, keys, 48)).astype(np.float32)}
                for (name, _, _), w, g in zip(self.outputs, ReferenceEvaluator(path).run(None, feed), model(feed, n=n, rows=rows, keys=keys)):
                    off = np.abs(g.astype(int) - w.astype(int))
                    self.assertLessEqual(off.max(), 1, (name, n, rows, keys))  # where a sum in f32 lies between two levels
                    self.assertLess((off != 0).mean(), 0.02, (name, n, rows, keys))

    def test_products_of_two_arrays_are_exact(self):
        """Sums of products of levels that f32 would round: the largest ones, along a depth of 3001."""
        depth = 3001
        for name, types, zeros in (("unsigned", ("uint8", "uint8"), (255, 0)), ("signed", ("int8", "int8"), (127, -128)), ("mixed", ("uint8", "int8"), (0, 127))):
            a, b = (self.node("DequantizeLinear", [x, self.constant(np.float32(1)), self.constant(np.array(z, t))], f"{name}_{x}")
                    for x, t, z in zip((f"{name}_a", f"{name}_b"), types, zeros))
            self.output(self.node("MatMul", [a, b], f"{name}_y"), FLOAT, [2, 21, 37])
        kinds = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8}
        inputs = [(f"{name}_{x}", kinds[t], s) for name, types in (("unsigned", ("uint8",) * 2), ("signed", ("int8",) * 2), ("mixed", ("uint8", "int8")))
                  for x, t, s in zip("ab", types, ([2, 21, depth], [2, depth, 37]))]
        path = support.save(self.folder / "e.onnx", self.nodes, inputs, self.outputs, self.constants, opset=21)
        done = support.halyard("compile", path, "-o", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        types = {n: np.uint8 if t == TensorProto.UINT8 else np.int8 for n, t, _ in inputs}
        feed = {n: self.rng.integers(np.iinfo(types[n]).min, np.iinfo(types[n]).max + 1, s).astype(types[n]) for n, _, s in inputs}
        got = support.Model(self.folder, "e")(feed)
        for i, (name, zeros) in enumerate((("unsigned", (255, 0)), ("signed", (127, -128)), ("mixed", (0, 127)))):
            a, b = (feed[f"{name}_{x}"].astype(np.int64) - z for x, z in zip("ab", zeros))
            np.testing.assert_array_equal(got[i], (a @ b).astype(np.float32), name)

    def window(self, name, x, rows, zero, out, groups=1, activation="", result="", **attributes):
        """x and constant weights around Conv, and what follows."""
        scale, zero = self.scale(), self.constant(np.array(zero, rows))
        x = self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, scale, zero], f"{name}_q"), scale, zero], f"{name}_x")
        w = [self.levels("int8", out, IMAGE // groups, 3, 3), self.scale(out), self.constant(np.zeros(out, np.int8))]
        bias = self.node("DequantizeLinear", [self.constant(self.rng.integers(-999, 999, out).astype(np.int32)), self.constant(np.float32(1e-3))], f"{name}_b")
        y = self.node("Conv", [x, self.node("DequantizeLinear", w, f"{name}_w", axis=0), bias], f"{name}_c", group=groups, **attributes)
        y = self.node(activation, [y], f"{name}_a") if activation else y
        y = self.node("QuantizeLinear", [y, self.scale(), self.constant(np.array(100, result))], f"{name}_y") if result else y
        self.output(y, TensorProto.UINT8 if result else FLOAT, ["n", out, None, None])

    def test_windows(self):
        self.window("relu", "x", "uint8", 117, 37, activation="Relu", result="uint8", pads=[1, 1, 1, 1])
        self.window("signed", "x", "int8", 3, 16, strides=[2, 2], pads=[1, 1, 1, 1])
        self.window("each", "x", "uint8", 120, IMAGE, groups=IMAGE, result="uint8", pads=[1, 1, 1, 1])
        self.window("other", "x", "uint8", 128, 8, activation="HardSigmoid", pads=[0, 0, 0, 0])  # no epilogue of the op
        self.window("oblong", "x", "uint8", 128, 8, strides=[2, 1], pads=[0, 1, 1, 0])             # no window of the op
        levels = [self.node("QuantizeLinear", ["x", scale := self.scale(), zero := self.constant(np.array(90, np.uint8))], "levels"), scale, zero]
        w = [self.levels("int8", 9, IMAGE, 1, 1), self.scale(9), self.constant(np.zeros(9, np.int8))]
        rest = [self.constant(np.float32(0.3)), self.constant(np.array(120, np.uint8)), self.constant(self.rng.integers(-999, 999, 9).astype(np.int32))]
        self.output(self.node("QLinearConv", [*levels, *w, *rest], "linear"), TensorProto.UINT8, ["n", 9, None, None])
        self.output(self.node("ConvInteger", [levels[0], self.levels("int8", 5, IMAGE, 3, 3), zero], "whole", pads=[1, 1, 1, 1]), TensorProto.INT32,
                    ["n", 5, None, None])
        path = support.save(self.folder / "q.onnx", self.nodes, [("x", FLOAT, ["n", IMAGE, "h", "w"])], self.outputs, self.constants, opset=21)
        done = support.halyard("compile", path, "-o", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (self.folder / "q.lua").read_text()
        self.assertEqual((text.count('op = "conv2d_int8"'), text.count('op = "depthwise_conv2d_int8"')), (4, 1))
        model = support.Model(self.folder, "q")
        for n, h, w in ((1, 9, 11), (2, 16, 5)):
            feed = {"x": self.rng.standard_normal((n, IMAGE, h, w)).astype(np.float32)}
            for (name, _, _), wanted, g in zip(self.outputs, ReferenceEvaluator(path).run(None, feed), model(feed, n=n, h=h, w=w)):
                if wanted.dtype == np.float32:
                    np.testing.assert_allclose(g, wanted, atol=4e-6 * np.abs(wanted).max(), err_msg=name)
                else:
                    self.assertLessEqual(np.abs(g.astype(int) - wanted.astype(int)).max(), 0 if wanted.dtype == np.int32 else 1, name)
                    self.assertLess((g != wanted).mean(), 0.01, name)


    def test_groups_are_given_back(self):
        x = self.node("DynamicQuantizeLinear", ["x"], ["levels", "level_scale", "level_zero"])
        self.dynamic("whole", False, x)
        path = support.save(self.folder / "q.onnx", self.nodes, [("x", FLOAT, ["n", 3, DEPTH])], self.outputs, self.constants, opset=21)
        feed = {"x": self.rng.standard_normal((2, 3, DEPTH)).astype(np.float32)}
        results = []
        for edit in (None, ("", ""), ('op = "gemm_int8"', 'op = "graph"')):
            given = []
            if edit is not None:
                (self.folder / "edited.lua").write_text((self.folder / "q.lua").read_text().replace(*edit))
                given = ["--schedule", self.folder / "edited.lua"]
            done = support.halyard("compile", path, "-o", self.folder, *given)
            self.assertEqual(done.returncode, 0, done.stderr)
            results.append((support.Model(self.folder, "q")(feed, n=2)[0], (self.folder / "q.lua").read_text()))
        self.assertEqual(results[0][1], results[1][1])
        self.assertNotIn("gemm_int8\"", results[2][1])
        np.testing.assert_array_equal(results[0][0], results[1][0])
        np.testing.assert_allclose(results[0][0], results[2][0], rtol=1e-5, atol=1e-5)

    def test_scales_that_do_not_fit(self):
        self.node("DequantizeLinear", [self.levels("int8", 4, 5), self.scale(3)], "w", axis=1)
        self.node("MatMul", ["x", "w"], "y")
        path = support.save(self.folder / "q.onnx", self.nodes, [("x", FLOAT, [2, 4])], [("y", FLOAT, [2, 5])], self.constants, opset=21)
        self.assertRegex(support.halyard("compile", path, "-o", self.folder).stderr, "DequantizeLinear .*: x_scale has 3 numbers for 5|ncompatible|not valid")


if __name__ == "__main__":
    sys.exit(unittest.main())

"""Ops that choose elements by what they are or where they stand, and ops that the ONNX standard says the body of."""

import pathlib
import unittest

import numpy as np
import support
from onnx import helper
from onnx.reference import ReferenceEvaluator
from support import FLOAT, INT64


class Selection(unittest.TestCase):
    def test_ops(self):
        made = support.folder()
        self.addCleanup(made.cleanup)
        folder = pathlib.Path(made.name)
        nodes, outputs, constants = [], [], []

        def constant(array):
            constants.append((f"c{len(constants)}", np.asarray(array)))
            return constants[-1][0]

        def node(op, inputs, rank, *types, **attributes):
            names = [f"{op}{len(outputs) + i}" for i in range(len(types) or 1)]
            nodes.append(helper.make_node(op, inputs, names, **attributes))
            outputs.extend((n, t, [None] * rank) for n, t in zip(names, types or [FLOAT]))
        node("TopK", ["x", constant(np.array([4]))], 2, FLOAT, INT64)
        node("TopK", ["x", constant(np.array([2]))], 2, FLOAT, INT64, axis=0, largest=0)
        node("ReverseSequence", ["x", constant(np.array([1, 3, 2, 2, 1, 3, 3, 1, 2]))], 2, time_axis=0, batch_axis=1)
        node("GridSample", ["image", "grid"], 4, mode="linear", padding_mode="zeros")
        node("ScatterElements", ["x", constant(np.array([[0, 0, -1]])), constant(np.array([[1, 2, 3]], np.float32))], 2, axis=0, reduction="add")
        nodes.append(helper.make_node("Exp", ["x"], ["before"]))
        node("ScatterND", ["before", constant(np.array([[1, 2], [-1, 0]])), constant(np.array([5, 6], np.float32))], 2)
        node("RotaryEmbedding", ["heads", "cos", "sin"], 4)
        node("Attention", ["heads"] * 3, 4, is_causal=1)
        inputs = {"x": ["rows", 9], "image": ["n", 3, 6, "w"], "grid": ["n", 4, 5, 2], "heads": ["n", 2, "tokens", 8], "cos": ["n", "tokens", 4],
                  "sin": ["n", "tokens", 4]}
        path = support.save(folder / "ops.onnx", nodes, [(n, FLOAT, s) for n, s in inputs.items()], outputs, constants, opset=23)
        done = support.halyard("compile", path, "-o", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('op = "attention"', (folder / "ops.lua").read_text())
        sizes = {"rows": 3, "n": 2, "w": 7, "tokens": 5}
        rng = np.random.default_rng(3)
        feed = {n: rng.standard_normal([sizes.get(d, d) for d in s]).astype(np.float32) for n, s in inputs.items()}
        feed["x"][0], feed["x"][1, 3] = 1, feed["x"][1, 5]  # which of those that are the same comes first
        for (name, _, _), w, g in zip(outputs, ReferenceEvaluator(path).run(None, feed), support.Model(folder, "ops")(feed, **sizes)):
            np.testing.assert_allclose(g, w, rtol=1e-5, atol=2e-6, err_msg=name)

    def test_transforms_and_sums_by_letters(self):
        """DFT, STFT, LpPool, and Einsum of any number of operands, with an ellipsis or without a result."""
        made = support.folder()
        self.addCleanup(made.cleanup)
        folder = pathlib.Path(made.name)
        rng = np.random.default_rng(4)
        nodes, outputs, constants = [], [], []

        def constant(array):
            constants.append((f"c{len(constants)}", np.asarray(array)))
            return constants[-1][0]

        def node(op, inputs, rank, **attributes):
            name = f"{op}{len(outputs)}"
            nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
            outputs.append((name, FLOAT, [None] * rank))
        node("DFT", ["signal", "", constant(np.array(1))], 3, onesided=1)
        node("DFT", ["signal", constant(np.array(13)), constant(np.array(-2))], 3)
        node("DFT", ["pairs", constant(np.array(6)), constant(np.array(1))], 4, inverse=1)
        node("STFT", ["speech", constant(np.array(3)), constant(np.hanning(8).astype(np.float32))], 4)
        node("STFT", ["speech", constant(np.array(4)), "", constant(np.array(9))], 4, onesided=0)
        node("LpPool", ["image"], 4, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 0])
        node("LpPool", ["image"], 4, kernel_shape=[2, 2], p=3)
        some = constant(rng.standard_normal([4, 5]).astype(np.float32))
        more = constant(rng.standard_normal([5, 3]).astype(np.float32))
        node("Einsum", ["image"], 3, equation="nchw->wnc")
        node("Einsum", ["image", some], 4, equation="...ij, jk -> ...ik")
        node("Einsum", ["image", constant(rng.standard_normal([1, 3, 4, 6]).astype(np.float32))], 4, equation="...ij,...jk->...ik")
        node("Einsum", ["image", some, more], 4, equation="nchw,wa,ab->nhbc")
        node("Einsum", [some, more], 2, equation="ij,jk")
        inputs = {"signal": ["n", 10, 1], "pairs": ["n", 7, 3, 2], "speech": ["n", "length", 1], "image": ["n", 3, 5, 4]}
        path = support.save(folder / "ops.onnx", nodes, [(i, FLOAT, s) for i, s in inputs.items()], outputs, constants, opset=21)
        done = support.halyard("compile", path, "-o", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        model = support.Model(folder, "ops")
        for sizes in ({"n": 2, "length": 29}, {"n": 1, "length": 9}):
            feed = {i: rng.standard_normal([sizes.get(d, d) for d in s]).astype(np.float32) for i, s in inputs.items()}
            for (name, _, _), w, g in zip(outputs, ReferenceEvaluator(path).run(None, feed), model(feed, **sizes)):
                self.assertEqual(w.shape, g.shape, name)
                np.testing.assert_allclose(g, w, atol=1e-5 * max(1, np.abs(w).max()), err_msg=name)
        with self.assertRaisesRegex(RuntimeError, "length|STFT"):
            model({i: np.zeros([{"n": 1, "length": 8}.get(d, d) for d in s], np.float32) for i, s in inputs.items()}, n=1, length=8)

    def test_more_elements_than_there_are(self):
        made = support.folder()
        self.addCleanup(made.cleanup)
        path = support.save(pathlib.Path(made.name) / "k.onnx", [helper.make_node("TopK", ["x", "k"], ["y", "i"])], [("x", FLOAT, ["n", 9])],
                            [("y", FLOAT, ["n", 12]), ("i", INT64, ["n", 12])], [("k", np.array([12]))])
        self.assertRegex(support.halyard("compile", path, "-o", made.name).stderr, "TopK .*: K is 12, and the dimension has 9|not valid")

    def test_nan_stands_with_infinity(self):
        made = support.folder()
        self.addCleanup(made.cleanup)
        path = support.save(pathlib.Path(made.name) / "k.onnx", [helper.make_node("TopK", ["x", "k"], ["y", "i"])], [("x", FLOAT, ["n", 9])],
                            [("y", FLOAT, ["n", 4]), ("i", INT64, ["n", 4])], [("k", np.array([4]))])
        done = support.halyard("compile", path, "-o", made.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        x = np.arange(27, dtype=np.float32).reshape(3, 9)
        x[0, 3], x[1, [2, 7]], x[2, [4, 5]] = np.nan, np.nan, np.inf
        values, index = support.Model(made.name, "k")({"x": x}, n=3)
        np.testing.assert_array_equal(index, [[3, 8, 7, 6], [2, 7, 8, 6], [4, 5, 8, 7]])
        np.testing.assert_array_equal(values, np.take_along_axis(x, index, 1))

    def test_known_indices_are_of_what_a_dimension_has(self):
        """With free sizes a call says it, with known ones the command."""
        updates, one = np.ones(1, np.float32), np.ones((1, 1), np.float32)
        nodes = {"Gather": ({"i": np.array([0, 2])}, {}), "GatherElements": ({"i": np.array([[2] * 9])}, {"axis": 0}), "GatherND": ({"i": np.array([[-3, 1]])}, {}),
                 "ScatterElements": ({"i": np.array([[2]]), "u": one}, {"axis": 0}), "ScatterND": ({"i": np.array([[2, 1]]), "u": updates}, {}),
                 "TopK": ({"i": np.array([3])}, {"axis": 0})}
        for op, (constants, attributes) in nodes.items():
            made = support.folder()
            self.addCleanup(made.cleanup)
            results = ["y", "z"] if op == "TopK" else ["y"]
            outputs = [(y, t, [None] * (1 if op == "GatherND" else 2)) for y, t in zip(results, (FLOAT, INT64))]

            def compiled(rows, op=op, constants=constants, attributes=attributes, results=results, outputs=outputs, made=made):
                path = support.save(pathlib.Path(made.name) / "m.onnx", [helper.make_node(op, ["x", *constants], results, **attributes)],
                                    [("x", FLOAT, [rows, 9])], outputs, list(constants.items()), opset=18)
                return support.halyard("compile", path, "-o", made.name)
            done = compiled("n")
            self.assertEqual(done.returncode, 0, done.stderr)
            model = support.Model(made.name, "m")
            model({"x": np.zeros((3, 9), np.float32)}, n=3)
            with self.assertRaisesRegex(RuntimeError, f"n has to be 3 or more: {op} "):
                model({"x": np.zeros((2, 9), np.float32)}, n=2)
            self.assertRegex(compiled(2).stderr, f"{op} .*: (indices: -?[23] is none of 2|K is 3, and the dimension has 2 elements)|not valid")

    def test_indices_beyond_32_bits_are_the_last_or_the_first(self):
        """As those are that are beyond the dimension: a call does not take what is left of them in 32 bits."""
        beyond = np.array([(1 << 32) + 1, -(1 << 32) + 1, (1 << 63) - 1, -(1 << 63), (1 << 31) + 1, 2, -1], np.int64)
        right = [4, 0, 4, 0, 4, 2, 4]
        made = support.folder()
        self.addCleanup(made.cleanup)
        nodes = [helper.make_node("Gather", ["x", "i"], ["g"]), helper.make_node("GatherElements", ["x", "i"], ["e"]),
                 helper.make_node("Unsqueeze", ["i", "last"], ["at"]), helper.make_node("GatherND", ["x", "at"], ["nd"]),
                 helper.make_node("ScatterElements", ["x", "one", "u"], ["s"])]
        path = support.save(pathlib.Path(made.name) / "m.onnx", nodes, [("x", FLOAT, [5]), ("i", INT64, [7]), ("one", INT64, [1])],
                            [("g", FLOAT, [7]), ("e", FLOAT, [7]), ("nd", FLOAT, [7]), ("s", FLOAT, [5])],
                            [("last", np.array([1])), ("u", np.full(1, 9, np.float32))], opset=18)
        done = support.halyard("compile", path, "-o", made.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        x = np.arange(10, 15, dtype=np.float32)
        *gathered, scattered = support.Model(made.name, "m")({"x": x, "i": beyond, "one": beyond[:1]})
        for values in gathered:
            np.testing.assert_array_equal(values, x[right])
        np.testing.assert_array_equal(scattered, [10, 11, 12, 13, 9])

    def test_updates_are_as_many_as_indices(self):
        for op, where, rank in (("ScatterND", ["m", 2], 1), ("ScatterElements", ["m", 2], 2)):
            made = support.folder()
            self.addCleanup(made.cleanup)
            path = support.save(pathlib.Path(made.name) / "m.onnx", [helper.make_node(op, ["x", "i", "u"], ["y"])],
                                [("x", FLOAT, ["n", 9]), ("i", INT64, where), ("u", FLOAT, ["k", 2][:rank])], [("y", FLOAT, ["n", 9])], opset=18)
            done = support.halyard("compile", path, "-o", made.name)
            self.assertEqual(done.returncode, 0, done.stderr)
            inputs = {"x": np.zeros((3, 9), np.float32), "i": np.zeros((2, 2), np.int64), "u": np.ones([1, 2][:rank], np.float32)}
            with self.assertRaisesRegex(RuntimeError, f"has to be .*: {op} "):
                support.Model(made.name, "m")(inputs, n=3, m=2, k=1)


if __name__ == "__main__":
    unittest.main()

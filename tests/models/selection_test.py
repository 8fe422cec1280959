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

    def test_more_elements_than_there_are(self):
        made = support.folder()
        self.addCleanup(made.cleanup)
        path = support.save(pathlib.Path(made.name) / "k.onnx", [helper.make_node("TopK", ["x", "k"], ["y", "i"])], [("x", FLOAT, ["n", 9])],
                            [("y", FLOAT, ["n", 12]), ("i", INT64, ["n", 12])], [("k", np.array([12]))])
        self.assertRegex(support.halyard("compile", path, "-o", made.name).stderr, "TopK .*: K is 12, and the dimension has 9|not valid")


if __name__ == "__main__":
    unittest.main()

"""What tests of `halyard compile` share: a model of their own that they compile, call, or see refused."""

import os
import pathlib
import unittest

import numpy as np
import support
from onnx import helper
from onnx.reference import ReferenceEvaluator
from support import FLOAT


def mlp(path, weight=2.0):
    """relu(x w + b) * 3, its mean over the columns, and an integer that counts its rows."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["product"], name="product"),
             helper.make_node("Add", ["product", "b"], ["sum"], name="bias"),
             helper.make_node("Relu", ["sum"], ["hidden"], name="relu"),
             helper.make_node("Mul", ["hidden", "three"], ["y"], name="triple"),
             helper.make_node("ReduceMean", ["y"], ["mean"], name="mean", axes=[1], keepdims=0)]
    w = np.full([5, 7], weight, np.float32) + np.arange(35, dtype=np.float32).reshape(5, 7)
    return support.save(path, nodes, [("x", FLOAT, ["rows", 5])], [("y", FLOAT, ["rows", 7]), ("mean", FLOAT, ["rows"])],
                        [("w", w), ("b", np.arange(7, dtype=np.float32)), ("three", np.array(3, np.float32))])


def names(folder):
    """Of what is in it; None where it is not there."""
    return sorted(os.listdir(folder)) if os.path.exists(folder) else None


class Compile(unittest.TestCase):
    def setUp(self):
        made = support.folder()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.model = mlp(self.folder / "mlp.onnx")
        self.x = np.random.default_rng(1).standard_normal([4, 5]).astype(np.float32)

    def compiled(self, *arguments, out="out"):
        done = support.halyard("compile", self.model, "-o", self.folder / out, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return support.Model(self.folder / out, "mlp")

    def refused(self, *arguments, model=None):
        """The error; nothing is left behind."""
        before = names(self.folder / "out")
        done = support.halyard("compile", model or self.model, "-o", self.folder / "out", *arguments)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(names(self.folder / "out"), before)
        return done.stderr

    def wanted(self, x):
        return ReferenceEvaluator(self.model).run(None, {"x": x})

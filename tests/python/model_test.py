"""halyard.compile_model: a model that is called, edited and called again, and what is refused."""

import os
import pathlib
import subprocess
import tempfile
import threading
import unittest

import halyard
import numpy as np

MAKE = """
import sys
import numpy as np
import onnx
from onnx import helper
nodes = [helper.make_node("MatMul", ["x", "w"], ["product"], name="product"), helper.make_node("Relu", ["product"], ["y"], name="relu"),
         helper.make_node("ReduceMean", ["y"], ["mean"], name="mean", axes=[1], keepdims=0)]
def info(name, *shape):
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
w = np.arange(35, dtype=np.float32).reshape(5, 7) - 17
graph = helper.make_graph(nodes, "test", [info("x", "rows", 5)], [info("y", "rows", 7), info("mean", "rows")], [onnx.numpy_helper.from_array(w, "w")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


class Model(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.path = self.folder / "small.onnx"
        subprocess.run([os.environ["HALYARD_PYTHON"], "-c", MAKE, self.path], check=True)

    def check(self, model, rows):
        x = np.random.default_rng(rows).integers(-3, 4, (rows, 5)).astype(np.float32)
        y, mean = model(x)
        wanted = np.maximum(x @ (np.arange(35, dtype=np.float32).reshape(5, 7) - 17), 0)
        np.testing.assert_array_equal(y, wanted)
        np.testing.assert_allclose(mean, wanted.mean(1), rtol=1e-6)

    def test_a_model(self):
        model = halyard.compile_model(self.path, dims={"rows": (1, 9)})
        self.assertEqual(repr(model), "<halyard model model(x: float32[rows, 5]) -> y: float32[rows, 7], mean: float32[rows]>")
        for rows in (1, 4, 9):
            self.check(model, rows)
        threads = [threading.Thread(target=self.check, args=(model, rows)) for rows in (2, 3, 5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        x = np.ones((2, 5), np.float32)
        np.testing.assert_array_equal(model(x=np.ones((5, 2), np.float32).T)[0], model(x)[0])
        self.assertRaisesRegex(halyard.Error, "rows has to be from 1 to 9", model, np.ones((10, 5), np.float32))
        self.assertRaisesRegex(halyard.Error, "rows has to be from 1 to 9", model, np.broadcast_to(np.float32(1), (1 << 40, 5)))
        self.assertRaisesRegex(ValueError, "dimension 1 of x, 5, has to be 5, not 4", model, np.ones((2, 4), np.float32))
        self.assertRaisesRegex(ValueError, "x has 2 dimensions", model, np.ones(5, np.float32))
        self.assertRaisesRegex(TypeError, "x is float32, not float64", model, np.ones((2, 5)))
        self.assertRaisesRegex(ValueError, "a masked array", model, np.ma.masked_array(x, mask=x > 0))
        for arrays, named in (((), {}), ((x, x), {}), ((x,), {"x": x}), ((x,), {"z": x})):
            self.assertRaises(TypeError, model, *arrays, **named)

    def test_an_edited_group(self):
        model = halyard.compile_model(self.path, out=self.folder / "out")
        self.check(model, 3)
        calls = model.report["calls"]
        text = model.groups.read_text()
        edited = self.folder / "edited.lua"
        begin = text.index("    { name")
        edited.write_text(text[:begin] + """
    { name = "alone", nodes = { "product" }, op = "graph" },
    { name = "then", nodes = { "relu" } },
    { name = "mean", nodes = { "mean" } } } }
""")
        other = halyard.compile_model(self.path, schedule=edited, out=self.folder / "out")
        self.assertEqual(other.report["calls"], calls + 1)
        self.check(other, 3)
        self.check(model, 3)

    def test_refused(self):
        self.assertRaisesRegex(halyard.Error, "no such file", halyard.compile_model, self.folder / "none.onnx")
        self.assertRaisesRegex(halyard.Error, "no free dimension of this name", halyard.compile_model, self.path, dims={"columns": 3})
        self.assertRaisesRegex(halyard.Error, "called from C", halyard.compile_model, self.path, target="cuda")


if __name__ == "__main__":
    unittest.main()

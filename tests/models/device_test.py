"""Models that are compiled for CUDA, on the emulator: what they compute, that they can be captured, and what is refused."""

import pathlib
import sys
import unittest

import numpy as np
import support
from attention_forms import Forms
from onnx import helper
from onnx.reference import ReferenceEvaluator
from support import FLOAT


class Device(unittest.TestCase):
    def setUp(self):
        made = support.folder()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def test_a_model_with_attention_and_a_convolution(self):
        """Ops of ours by their own schedules, and a thread an element for the rest: softmax and norms, windows, scans, moves."""
        forms = Forms(np.random.default_rng(9))
        for name in ("eager", "filled", "over_queries"):
            forms.prefix = f"{name}_"
            getattr(forms, name)(name)

        def node(op, inputs, output, **attributes):
            return forms.node(op, inputs, output, **attributes)
        image = node("Reshape", ["eager", forms.ints(0, 1, forms.T, forms.WIDTH)], "image")
        image = node("Relu", [node("Conv", [image, forms.floats(6, 1, 3, 3), forms.floats(6)], "conv", pads=[1, 1, 1, 1], strides=[1, 2])], "relu")
        tokens = node("Reshape", [node("MaxPool", [image], "pool", kernel_shape=[2, 2]), forms.ints(0, -1, 15)], "tokens")
        node("LayerNormalization", [tokens, forms.floats(15), forms.floats(15)], "norm")
        node("Concat", ["filled", node("CumSum", ["over_queries", forms.constant(np.array(1))], "sums", exclusive=1)], "both", axis=2)
        node("ReduceMax", ["norm"], "most", axes=[1, 2], keepdims=0)
        shape = ["n", forms.T, forms.WIDTH]
        inputs = [("x", FLOAT, shape), ("other", FLOAT, ["n", forms.KEYS, forms.WIDTH]), ("mask", FLOAT, ["n", 1, 1, forms.T]),
                  ("seen", FLOAT, ["n", 1, 1, forms.T])]
        outputs = [("norm", FLOAT, ["n", 24, 15]), ("both", FLOAT, ["n", forms.T, 2 * forms.WIDTH]), ("most", FLOAT, ["n"])]
        used = {i for n in forms.nodes for i in n.input}
        inputs = [i for i in inputs if i[0] in used]
        path = support.save(self.folder / "d.onnx", forms.nodes, inputs, outputs, forms.constants)
        done = support.halyard("compile", path, "-o", self.folder, "--target", "cuda", "--devices", "emulator")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "d.lua").read_text().count('op = "attention"'), 2)
        model = support.DeviceModel(self.folder, "d")
        for n in (1, 3):
            feed = {i: forms.rng.standard_normal([n, *s[1:]]).astype(np.float32) for i, _, s in inputs}
            feed["seen"] = (feed["seen"] > 0).astype(np.float32)
            for w, g in zip(ReferenceEvaluator(path).run(None, feed), model(feed, n=n)):
                np.testing.assert_allclose(g, w, atol=2e-5 * np.abs(w).max())
        model.capture(feed, n=3)
        launches = model.count("launches")
        model(feed, n=3)
        self.assertLess(model.count("launches") - launches, 2 * model.report["calls"])  # rows and windows are a kernel each
        of_host = np.zeros(1 << 20, np.uint8)
        place = (of_host.ctypes.data + 63) // 64 * 64
        with self.assertRaisesRegex(RuntimeError, "device memory|memory of the host|host memory"):
            model.run({a["name"]: place for a in model.report["inputs"] + model.report["outputs"]} | {"workspace": place}, n=3)

    def check_type(self, type_, epsilon):
        """Attention of heads that the fused schedule has, and of others, and products whose rows do not begin at multiples of 16 bytes."""
        class Wide(Forms):
            DEPTH, WIDTH = 32, 128
        forms, names = Wide(np.random.default_rng(10)), ("eager", "filled")
        for name in names:
            forms.prefix = f"{name}_"
            getattr(forms, name)(f"{name}_heads")
            forms.node("LayerNormalization", [f"{name}_heads", forms.floats(128), forms.floats(128)], f"{name}_norm")
        odd = forms.node("Relu", [forms.node("MatMul", ["eager_norm", forms.floats(128, 13)])])
        forms.node("MatMul", [odd, forms.floats(13, 24)], "odd")
        forms.node("Softmax", ["filled_norm"], "weights", axis=-1)
        inputs = [("x", FLOAT, ["n", forms.T, 128]), ("mask", FLOAT, ["n", 1, 1, forms.T]), ("seen", FLOAT, ["n", 1, 1, forms.T])]
        path = support.save(self.folder / "h.onnx", forms.nodes, inputs, [("odd", FLOAT, ["n", forms.T, 24]), ("weights", FLOAT, ["n", forms.T, 128])],
                            forms.constants)
        done = support.halyard("compile", path, "-o", self.folder, "--target", "cuda", "--devices", "emulator", "--type", type_)
        self.assertEqual(done.returncode, 0, done.stderr)
        model = support.DeviceModel(self.folder, "h")
        self.assertEqual(model.report["type"], type_)
        for n in (1, 3):
            feed = {i: forms.rng.standard_normal([n, *s[1:]]).astype(np.float32) for i, _, s in inputs}
            feed["seen"] = (feed["seen"] > 0).astype(np.float32)
            for w, g in zip(ReferenceEvaluator(path).run(None, feed), model(feed, n=n)):
                off = np.abs(w - g).max() / np.abs(w).max() / epsilon
                self.assertLess(off, 6)
                self.assertGreater(off, 1e-3)  # that these are arrays of 16 bits
        model.capture(feed, n=3)

    def test_bfloat16(self):
        self.check_type("bfloat16", 2.0 ** -7)

    def test_float16(self):
        self.check_type("float16", 2.0 ** -10)

    def test_devices_are_of_cuda(self):
        path = support.save(self.folder / "d.onnx", [helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, [4])], [("y", FLOAT, [4])])
        self.assertIn("--devices is for CUDA", support.halyard("compile", path, "-o", self.folder, "--devices", "sm_90a").stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())

"""Branches of a model that run beside each other: the same bits for any number of threads and callers, and memory that is not shared too early."""

import concurrent.futures
import pathlib
import unittest

import numpy as np
import support
from onnx import helper
from onnx.reference import ReferenceEvaluator
from support import FLOAT


def towers(path, count, depth, width):
    """Towers of small products over one input, of which every second reads what is before the last step of the one before it; their sum."""
    rng = np.random.default_rng(5)
    nodes, constants, tops = [helper.make_node("Softmax", ["x"], ["stem"], axis=1)], [], []
    for t in range(count):
        value = "stem"
        for d in range(depth):
            name = f"t{t}_{d}"
            constants.append((f"w_{name}", rng.standard_normal([width, width]).astype(np.float32) / np.float32(width) ** 0.5))
            nodes += [helper.make_node("MatMul", [value, f"w_{name}"], [f"p_{name}"], name=f"p_{name}"),
                      helper.make_node("Tanh", [f"p_{name}"], [name], name=f"tanh_{name}"),
                      helper.make_node("ReduceMax", [name], [f"m_{name}"], name=f"m_{name}", axes=[1]),
                      helper.make_node("Sub", [name, f"m_{name}"], [f"s_{name}"], name=f"s_{name}")]
            value = f"s_{name}"
        if t % 2:
            nodes.append(helper.make_node("Add", [value, f"t{t - 1}_{depth - 1}"], [f"sum{t}"]))
            value = f"sum{t}"
        tops.append(value)
    nodes.append(helper.make_node("Concat", tops, ["y"], axis=1))
    return support.save(path, nodes, [("x", FLOAT, ["rows", width])], [("y", FLOAT, ["rows", width * count])], constants)


class Branches(unittest.TestCase):
    def test_beside_each_other(self):
        made = support.folder()
        self.addCleanup(made.cleanup)
        folder = pathlib.Path(made.name)
        path = towers(folder / "towers.onnx", 5, 3, 24)
        done = support.halyard("compile", path, "-o", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        model = support.Model(folder, "towers")
        sections = model.report["branches"]
        self.assertGreaterEqual(max(map(len, sections), default=0), 4, sections)
        reference = ReferenceEvaluator(path)
        rng = np.random.default_rng(6)
        for rows in (1, 3, 200):
            x = rng.standard_normal([rows, 24]).astype(np.float32)
            results = []
            for threads in (1, 2, 5):
                model.library.halide_set_num_threads(threads)
                results += [model({"x": x}, rows=rows)[0] for _ in range(3)]
            np.testing.assert_allclose(results[0], reference.run(None, {"x": x})[0], rtol=1e-4, atol=1e-5)
            for r in results[1:]:
                self.assertTrue((r.view(np.uint32) == results[0].view(np.uint32)).all(), f"{rows} rows: other bits with other threads")
        # Many callers at a time, each with a workspace of its own.
        inputs = [rng.standard_normal([rows, 24]).astype(np.float32) for rows in (1, 2, 7, 30) * 4]
        alone = [model({"x": x}, rows=len(x))[0] for x in inputs]
        with concurrent.futures.ThreadPoolExecutor(4) as callers:
            together = list(callers.map(lambda x: model({"x": x}, rows=len(x))[0], inputs))
        for a, b in zip(alone, together):
            self.assertTrue((a.view(np.uint32) == b.view(np.uint32)).all())


if __name__ == "__main__":
    unittest.main()

"""Products where a target has tile instructions (AMX): the schedule, its panels and tasks, and the same results."""

import pathlib
import sys
import unittest

import numpy as np
import support
from compile_case import Compile
from onnx import helper
from onnx.reference import ReferenceEvaluator
from support import FLOAT

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts/models"))

import tiles  # noqa: E402
from targets import Target  # noqa: E402

DEPTH, WIDE, NARROW = 40, 1152, 70
AMX = "avx512_sapphirerapids"
BOTH = f"{AMX},avx2"


def has(*flags):
    """Whether the processor has all of these, as the kernel names them."""
    lines = [line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")]
    return bool(lines) and set(flags) <= set(lines[0].split())


class Tiles(Compile):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(7)

        def floats(*shape):
            return self.rng.standard_normal(shape).astype(np.float32)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["product"], name="wide"), helper.make_node("Add", ["product", "b"], ["sum"], name="bias"),
                 helper.make_node("Relu", ["sum"], ["hidden"], name="relu"), helper.make_node("MatMul", ["hidden", "v"], ["y"], name="narrow")]
        constants = [("w", floats(DEPTH, WIDE)), ("b", floats(WIDE)), ("v", floats(WIDE, NARROW) / 30)]
        self.model = support.save(self.folder / "mlp.onnx", nodes, [("x", FLOAT, ["rows", DEPTH])], [("y", FLOAT, ["rows", NARROW])], constants)

    def said(self, model):
        return [(g["variant"], g["set"]) for g in model.report["groups"] if g["kind"] == "gemm"]

    def check(self, model, off):
        for rows in (1, 9, 33, 70):
            x = self.rng.standard_normal([rows, DEPTH]).astype(np.float32)
            wanted = ReferenceEvaluator(self.model).run(None, {"x": x})[0]
            got = model({"x": x}, rows=rows)[0]
            self.assertLessEqual(np.abs(got - wanted).max() / np.abs(wanted).max(), off, rows)

    def test_the_target_chooses(self):
        by_vectors = self.said(self.compiled("--target", "avx2", out="avx2"))
        self.assertEqual(by_vectors, [("", {"panel": "48"}), ("", {"panel": "48"})])
        both = self.compiled("--target", BOTH)
        self.assertEqual(self.said(both), [("mma_f32", {"panel": "32", "task": "8", "panels": "9"}), ("mma_f32", {"panel": "32", "task": "4", "panels": "4"})])
        self.check(both, 1e-5)
        halves = self.compiled("--target", BOTH, "--type", "bfloat16")
        self.assertEqual({v for v, _ in self.said(halves)}, {"mma"})
        self.check(halves, 2 ** -6)

    def test_a_file_says_otherwise(self):
        """The main schedule by its name, or by numbers alone; and tiles anywhere."""
        self.compiled("--target", BOTH)
        text = (self.folder / "out/mlp.lua").read_text()
        for fields, wanted in (('variant = "gemm",', ("", {"panel": "32"})), ("set = { task = 32 },", ("", {"panel": "32", "task": "32"})),
                               ('variant = "mma_f32", set = { task = 2 },', ("mma_f32", {"panel": "32", "task": "2", "panels": "9"})),
                               ('variant = "mma_f32", set = { tiles = "always" },', ("mma_f32", {"panel": "32", "task": "8", "panels": "9", "tiles": "always"}))):
            (self.folder / "edited.lua").write_text(text.replace('op = "gemm",', 'op = "gemm", ' + fields, 1))
            model = self.compiled("--target", BOTH, "--schedule", self.folder / "edited.lua", out="edited")
            self.assertEqual(self.said(model)[0], wanted, fields)
            self.check(model, 1e-5)

    def test_attention(self):
        """In bfloat16 tiles take it where a call cannot have few keys."""
        heads, depth = 2, 32

        def headed(name, perm):
            nodes.append(helper.make_node("Tanh", [name], [name + "_1"]))
            nodes.append(helper.make_node("Reshape", [name + "_1", "split"], [name + "_4"]))
            nodes.append(helper.make_node("Transpose", [name + "_4"], [name + "_h"], perm=perm))
            return name + "_h"
        nodes = []
        q, k, v = headed("q", [0, 2, 1, 3]), headed("k", [0, 2, 3, 1]), headed("v", [0, 2, 1, 3])
        nodes += [helper.make_node("MatMul", [q, k], ["scores"]), helper.make_node("Mul", ["scores", "scale"], ["scaled"]),
                  helper.make_node("Softmax", ["scaled"], ["weights"], axis=-1), helper.make_node("MatMul", ["weights", v], ["o"]),
                  helper.make_node("Transpose", ["o"], ["o_t"], perm=[0, 2, 1, 3]), helper.make_node("Reshape", ["o_t", "join"], ["o_j"]),
                  helper.make_node("Tanh", ["o_j"], ["y"])]
        constants = [("split", np.array([0, 0, heads, depth])), ("scale", np.array(depth ** -0.5, np.float32)),
                     ("join", np.array([0, 0, heads * depth]))]
        shape = ["batch", "tokens", heads * depth]
        self.model = support.save(self.folder / "mlp.onnx", nodes, [(n, FLOAT, shape) for n in "qkv"], [("y", FLOAT, shape)], constants)
        # By plain loops where there are no tiles: of AVX512-FP16, which a Zen has not, the code for AMX takes nothing.
        only = AMX if has("avx512_bf16", "avx_vnni") else BOTH
        for target, least, wanted in ((BOTH, 1, ""), (BOTH, 56, "mma"), (only, 1, ""), (only, 56, "mma")):
            model = self.compiled("--target", target, "--type", "bfloat16", "--dim", f"tokens={least}..128")
            said = [(g["variant"], g["set"]) for g in model.report["groups"] if g["kind"] == "attention"]
            self.assertEqual(said[0][0], wanted)
            feed = {n: self.rng.standard_normal([2, 67, heads * depth]).astype(np.float32) for n in "qkv"}
            wanted = ReferenceEvaluator(self.model).run(None, feed)[0]
            got = model(feed, batch=2, tokens=67)[0]
            self.assertLessEqual(np.abs(got - wanted).max() / np.abs(wanted).max(), 3 * 2 ** -7)

    def test_sizes(self):
        """Tasks of a transformer's products, and of what is narrow, deep or has panels that do not divide."""
        for (depth, columns), (task, panels) in {(384, 1152): (8, 9), (384, 1536): (8, 12), (1536, 384): (4, 6), (768, 3072): (8, 16), (4096, 4096): (2, 16),
                                                 (64, 8): (8, 1), (64, 200): (8, 8), (1024, 300): (4, 6)}.items():
            self.assertEqual(tiles.schedule_of(depth, columns, 32, ""), ("mma_f32", {"task": str(task), "panels": str(panels)}), (depth, columns))

    def test_what_has_tiles(self):
        self.assertEqual(Target(["x86-64-linux-avx512-avx512_sapphirerapids", "x86-64-linux-sse41-avx-no_asserts"]).needed, ["sse41", "avx"])
        self.assertNotIn("avx512_sapphirerapids", Target(["x86-64-linux-avx512_sapphirerapids"]).needed)  # which runs without
        amx, other, gpu = (Target([t]) for t in ("x86-64-linux-avx2-avxvnni-avx512_sapphirerapids", "x86-64-linux-avx512_zen5", "x86-64-linux-cuda"))
        self.assertEqual([tiles.multiplies(amx, h) for h in ("", "bfloat16", "float16")], [True, True, False])
        self.assertFalse(tiles.multiplies(other, "") or tiles.multiplies(gpu, "") or other.on_gpu)
        self.assertTrue(gpu.on_gpu)


if __name__ == "__main__":
    unittest.main()

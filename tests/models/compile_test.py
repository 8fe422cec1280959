"""What `halyard compile` writes and refuses: files, groups that are edited, sizes of calls, and broken models."""

import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import numpy as np
import onnx
import support
from attention_forms import MATCHED, OTHERS, Forms
from onnx import helper
from onnx.reference import ReferenceEvaluator
from support import FLOAT, INT64


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
    return sorted(os.listdir(folder))


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
        before = names(self.folder / "out") if (self.folder / "out").exists() else []
        done = support.halyard("compile", model or self.model, "-o", self.folder / "out", *arguments)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(names(self.folder / "out") if (self.folder / "out").exists() else [], before)
        return done.stderr

    def wanted(self, x):
        return ReferenceEvaluator(self.model).run(None, {"x": x})

    def test_groups_are_edited(self):
        model = self.compiled()
        self.assertTrue({"libmlp.a", "mlp.h", "mlp.json", "mlp.lua", "mlp.weights"} <= set(names(self.folder / "out")))
        for rows in (1, 4):
            for w, g in zip(self.wanted(self.x[:rows]), model({"x": self.x[:rows]}, rows=rows)):
                np.testing.assert_allclose(g, w, rtol=1e-5)
        # The bias and what follows is fused into the product; the mean has a group of its own, as y is an output.
        text = (self.folder / "out/mlp.lua").read_text()
        first = re.search(r"nodes = \{(.*?)\}", text, re.S).group(1)
        self.assertEqual(re.findall(r'"(\w+)"', first), ["product", "bias", "relu", "triple"])
        self.assertIn('why = "its result is an output of the model"', text)

        # Split: what is computed stays the same, by one call more.
        edited = text.replace('"relu",', "").replace('"triple" },', '},').replace(
            "groups = {", 'groups = { { name = "tail", nodes = { "relu", "triple" } },')
        (self.folder / "edited.lua").write_text(edited)
        again = self.compiled("--schedule", self.folder / "edited.lua", out="edited")
        self.assertEqual(again.report["calls"], model.report["calls"] + 1)
        for w, g in zip(self.wanted(self.x), again({"x": self.x}, rows=4)):
            np.testing.assert_allclose(g, w, rtol=1e-5)

        # What does not go.
        def with_text(changed):
            (self.folder / "edited.lua").write_text(changed)
            return self.refused("--schedule", self.folder / "edited.lua")
        self.assertIn('did you mean "relu"', with_text(text.replace('"relu"', '"rleu"')))
        self.assertIn("are in no group", with_text(text.replace('"relu",', "")))
        self.assertIn("another model", with_text(re.sub(r'graph = "\w+"', 'graph = "0123456789abcdef"', text)))
        line = text.split("\n").index("  groups = {") + 1
        self.assertIn(f"edited.lua:{line}: error:", with_text(text.replace("  groups = {", "  groups = os.exit() {")))
        one = re.sub(r'    \{ name = "reduce_1".*?\},\n(?=  \},)', "", text, flags=re.S).replace('"triple" },', '"triple", "mean" },')
        self.assertIn("has 2 results", with_text(one))

    def explore(self, *arguments, start=subprocess.run, environment=None):
        return start([str(support.COMMAND), "explore", self.model, "-o", self.folder / "found", "--db", self.folder / "found.db", "--threads", "1",
                      "--shape", "rows=4", "--budget", "60s", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                     env={**os.environ, **(environment or {})})

    def test_explore(self):
        """A search leaves what compile writes, and its groups can be given back; interrupted, too. What it tries is confined."""
        linker, outside = self.folder / "bin/c++", self.folder / "outside"
        linker.parent.mkdir()
        linker.write_text(f'#!/bin/sh\ncase "$*" in *model.so*) echo seen; echo x > {outside};; esac 2>/dev/null\nexec {shutil.which("c++")} "$@"\n')
        linker.chmod(0o755)
        done = self.explore("--most", "5", environment={"PATH": f"{linker.parent}:{os.environ['PATH']}", "TMPDIR": str(self.folder),
                                                        "HALYARD_CONFINE_READS": str(linker.parent)})
        self.assertEqual(done.returncode, 0, done.stderr)
        if ctypes.CDLL(None).syscall(444, None, 0, 1) > 0:  # landlock_create_ruleset
            self.assertFalse(outside.exists())
        self.assertEqual([n for n in names(self.folder) if n.startswith(".")], [])
        self.assertRegex(done.stderr, r"mlp: .* a call, .* of 5 changes kept")
        self.assertNotIn("Warning", done.stderr)
        wanted = self.wanted(self.x)
        for w, g in zip(wanted, support.Model(self.folder / "found", "mlp")({"x": self.x}, rows=4)):
            np.testing.assert_allclose(g, w, rtol=1e-5)
        given = self.compiled("--schedule", self.folder / "found/mlp.lua")
        self.assertEqual((self.folder / "out/mlp.lua").read_text(), (self.folder / "found/mlp.lua").read_text())
        for w, g in zip(wanted, given({"x": self.x}, rows=4)):
            np.testing.assert_allclose(g, w, rtol=1e-5)
        shutil.rmtree(self.folder / "found")
        with self.explore("--measure-again", start=subprocess.Popen) as running:
            while running.poll() is None and not list(self.folder.glob("found/*/build0/mlp.json")):
                time.sleep(0.05)
            time.sleep(0.5)
            running.send_signal(signal.SIGINT)
            said = running.communicate()[1]
        self.assertEqual(running.returncode, -signal.SIGINT, said)
        self.assertIn("mlp: interrupted", said)
        self.assertEqual(names(self.folder / "found"), ["libmlp.a", "mlp.h", "mlp.json", "mlp.lua", "mlp.weights"])

    def test_arrays_of_16_bits(self):
        """Products, convolutions, attention and norms round what they store, and sum in f32; the file is half as large, and its groups can be given back."""
        def node(op, inputs, output, **attributes):
            return helper.make_node(op, inputs, [output], name=output, **attributes)
        rng = np.random.default_rng(8)

        def floats(*shape):
            return (rng.standard_normal(shape) / shape[0] ** 0.5).astype(np.float32)
        nodes = [node("MatMul", ["x", "up"], "hidden"), node("Add", ["hidden", "b"], "biased"), node("Relu", ["biased"], "relu"),
                 node("MatMul", ["relu", "down"], "back"), node("Add", ["back", "x"], "sum"), node("LayerNormalization", ["sum", "g", "s"], "normed", axis=-1)]
        for name in "qkv":
            nodes += [node("MatMul", ["normed", f"w{name}"], f"{name}0"), node("Reshape", [f"{name}0", "heads"], f"{name}1"),
                      node("Transpose", [f"{name}1"], name, perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])]
        nodes += [node("MatMul", ["q", "k"], "scores"), node("Add", ["scores", "mask"], "masked"), node("Softmax", ["masked"], "weights", axis=-1),
                  node("MatMul", ["weights", "v"], "heads_out"), node("Transpose", ["heads_out"], "rows", perm=[0, 2, 1, 3]),
                  node("Reshape", ["rows", "flat"], "attended"), node("Add", ["attended", "normed"], "kept"),
                  node("Reshape", ["kept", "image"], "pixels"), node("Conv", ["pixels", "window", "g8"], "conv", pads=[1, 1, 1, 1]),
                  node("Relu", ["conv"], "conv_relu"), node("Concat", ["conv_relu", "pixels"], "y", axis=1)]
        mask = np.zeros([6, 6], np.float32)
        mask[:, 4:] = np.finfo(np.float32).min
        constants = [("up", floats(32, 96)), ("down", floats(96, 32)), ("b", floats(96)), ("g", floats(32) + 1), ("s", floats(32)), ("mask", mask),
                     *[(f"w{n}", floats(32, 32)) for n in "qkv"], ("heads", np.array([0, 6, 2, 16], np.int64)), ("flat", np.array([0, 6, 32], np.int64)),
                     ("image", np.array([0, 8, 6, 4], np.int64)), ("window", floats(8, 8, 3, 3)), ("g8", floats(8))]
        self.model = support.save(self.folder / "mlp.onnx", nodes, [("x", FLOAT, ["n", 6, 32])], [("y", FLOAT, ["n", 16, 6, 4])], constants)
        x = rng.standard_normal([3, 6, 32]).astype(np.float32)
        wanted = ReferenceEvaluator(self.model).run(None, {"x": x})[0]
        whole = self.compiled()(({"x": x}), n=3)[0]
        size = (self.folder / "out/mlp.weights").stat().st_size
        np.testing.assert_allclose(whole, wanted, atol=1e-4)
        for kind, epsilon in (("bfloat16", 2.0 ** -7), ("float16", 2.0 ** -10)):
            model = self.compiled("--type", kind, out=kind)
            got = model({"x": x}, n=3)[0]
            off = np.abs(got - wanted).max() / np.abs(wanted).max()
            self.assertLess(off, 3 * epsilon, kind)
            self.assertGreater(off, epsilon / 50, "it is not rounded at all")
            text = (self.folder / kind / "mlp.lua").read_text()
            self.assertEqual((text.count('op = "gemm"'), text.count('op = "attention"')), (3, 1), text)
            self.assertLess((self.folder / kind / "mlp.weights").stat().st_size, 0.7 * size)
            again = self.compiled("--type", kind, "--schedule", self.folder / kind / "mlp.lua", out="again")
            np.testing.assert_array_equal(again({"x": x}, n=3)[0], got)

    def test_places_of_transposed_convolutions(self):
        """Windows that overlap, are cut off by pads, or leave holes are convolutions, whose results are put in their places."""
        rng = np.random.default_rng(3)
        cases = [([4, 4], {"strides": [2, 2], "pads": [1] * 4}), ([5, 3], {"strides": [3, 2], "pads": [2, 0, 1, 1], "output_padding": [0, 1]}),
                 ([3, 2], {"strides": [2, 3], "dilations": [2, 1]})]
        constants = [("w", rng.standard_normal([8, 3, 1, 1]).astype(np.float32))]
        nodes = [helper.make_node("Conv", ["x", "w"], ["image"])]
        for i, (kernel, attributes) in enumerate(cases):
            constants += [(f"w{i}", rng.standard_normal([8, 5, *kernel]).astype(np.float32)), (f"b{i}", rng.standard_normal(5).astype(np.float32))]
            nodes.append(helper.make_node("ConvTranspose", ["image", f"w{i}", f"b{i}"], [f"y{i}"], **attributes))
        self.model = support.save(self.folder / "mlp.onnx", nodes, [("x", FLOAT, ["n", 3, "h", 6])],
                                  [(f"y{i}", FLOAT, ["n", 5, f"h{i}", f"w{i}"]) for i in range(len(cases))], constants)
        model = self.compiled()
        self.assertEqual((self.folder / "out/mlp.lua").read_text().count("before its places"), 3)
        for n, h in ((2, 5), (1, 1)):
            x = rng.standard_normal([n, 3, h, 6]).astype(np.float32)
            for w, g in zip(ReferenceEvaluator(self.model).run(None, {"x": x}), model({"x": x}, n=n, h=h)):
                np.testing.assert_allclose(g, w, atol=2e-5)

    def test_what_a_group_says_of_its_schedule(self):
        self.compiled()
        text = (self.folder / "out/mlp.lua").read_text()

        def edited(fields):
            (self.folder / "edited.lua").write_text(text.replace('{ name = "matmul_1",', '{ name = "matmul_1", ' + fields, 1))
            return ["--schedule", self.folder / "edited.lua"]
        product = self.compiled(*edited("set = { rows = 2 },"), out="edited")({"x": self.x}, rows=4)[0]
        np.testing.assert_allclose(product, self.wanted(self.x)[0], rtol=1e-5)
        self.assertIn("set = { rows = 2 },", (self.folder / "edited/mlp.lua").read_text())
        for fields, said in (("set = { raws = 2 },", "leaves open rows"), ("set = { rows = { 1 } },", "neither a whole number nor a word"),
                             ('set = "task",', "set is a table"), ('variant = "../x",', "the name of no schedule"), ('variant = "deep",', "is of an op of Halyard")):
            self.assertIn(said, self.refused(*edited(fields)), fields)

    def test_a_product_with_its_epilogue_is_gemm(self):
        """Bias, GELU as exporters write it, and a residual; with op = "graph" the general generator computes the same."""
        def node(op, inputs, output):
            return helper.make_node(op, inputs, [output], name=output)
        nodes = [node("MatMul", ["x", "w"], "p"), node("Add", ["b", "p"], "v"), node("Div", ["v", "root"], "d"), node("Erf", ["d"], "e"),
                 node("Add", ["e", "one"], "f"), node("Mul", ["v", "f"], "g"), node("Mul", ["g", "half"], "gelu"),
                 node("MatMul", ["gelu", "back"], "q"), node("Add", ["q", "x"], "y")]
        rng = np.random.default_rng(5)
        constants = [("w", rng.standard_normal([24, 70]).astype(np.float32)), ("b", rng.standard_normal(70).astype(np.float32)),
                     ("back", rng.standard_normal([70, 24]).astype(np.float32)), ("root", np.array(2 ** 0.5, np.float32)),
                     ("one", np.array(1, np.float32)), ("half", np.array(0.5, np.float32))]
        self.model = support.save(self.folder / "mlp.onnx", nodes, [("x", FLOAT, ["n", 3, 24])], [("y", FLOAT, ["n", 3, 24])], constants)
        x = rng.standard_normal([5, 3, 24]).astype(np.float32)
        wanted = ReferenceEvaluator(self.model).run(None, {"x": x})[0]
        model = self.compiled()
        text = (self.folder / "out/mlp.lua").read_text()
        self.assertEqual((text.count('op = "gemm"'), model.report["calls"]), (2, 2))
        (self.folder / "edited.lua").write_text(text.replace('op = "gemm"', 'op = "graph"'))
        other = self.compiled("--schedule", self.folder / "edited.lua", out="edited")
        self.assertNotIn('"gemm"', (self.folder / "edited/mlp.lua").read_text())
        for m in (model, other):
            np.testing.assert_allclose(m({"x": x}, n=5)[0], wanted, atol=2e-5 * np.abs(wanted).max())

    def test_activations_are_known_by_what_they_compute(self):
        """GELU by tanh in two forms, SiLU and ReLU of other nodes; what is near to GELU and is none stays with the general generator."""
        rng, nodes, constants = np.random.default_rng(8), [], []

        def number(value):
            constants.append((f"c{len(constants)}", np.asarray(value, np.float32)))
            return constants[-1][0]

        def node(op, *inputs, output=None):
            nodes.append(helper.make_node(op, inputs, [output or f"v{len(nodes)}"], name=output or f"v{len(nodes)}"))
            return nodes[-1].output[0]

        def linear():
            return node("Add", node("MatMul", "x", number(rng.standard_normal([24, 16]))), number(rng.standard_normal(16)))

        def by_tanh(x, factor, output):
            inner = node("Mul", number(factor), node("Add", x, node("Mul", number(0.044715), node("Pow", x, number(3)))))
            return node("Mul", node("Mul", number(0.5), x), node("Add", number(1), node("Tanh", inner)), output=output)
        by_tanh(linear(), np.sqrt(2 / np.pi), "new")
        x = linear()
        inner = node("Mul", node("Mul", x, number(0.7978845608)), node("Add", node("Mul", node("Mul", x, x), number(0.044715)), number(1)))
        node("Mul", node("Mul", x, node("Add", node("Tanh", inner), number(1))), number(0.5), output="fast")
        x = linear()
        node("Div", x, node("Add", number(1), node("Exp", node("Neg", x))), output="silu")
        node("Max", linear(), number(0), output="relu")
        by_tanh(linear(), 0.79, "near")
        outputs = ["new", "fast", "silu", "relu", "near"]
        self.model = support.save(self.folder / "mlp.onnx", nodes, [("x", FLOAT, ["n", 24])], [(o, FLOAT, ["n", 16]) for o in outputs], constants)
        x = rng.standard_normal([5, 24]).astype(np.float32)
        model = self.compiled()
        for name, w, g in zip(outputs, ReferenceEvaluator(self.model).run(None, {"x": x}), model({"x": x}, n=5)):
            np.testing.assert_allclose(g, w, atol=2e-5 * np.abs(w).max(), err_msg=name)
        self.assertEqual(((self.folder / "out/mlp.lua").read_text().count('op = "gemm"'), model.report["calls"]), (4, 5))

    def test_attention_in_the_forms_of_exporters(self):
        """Each is one call, but those that are no attention, of which the file says why; products of one array are one call. Taken apart in the
        file, they compute the same."""
        forms = Forms(np.random.default_rng(7))
        for name in (*MATCHED, *OTHERS):
            forms.prefix = f"{name}_"
            getattr(forms, name)(name)
        shape = ["n", forms.T, forms.WIDTH]
        inputs = [("x", FLOAT, shape), ("other", FLOAT, ["n", forms.KEYS, forms.WIDTH]), ("mask", FLOAT, ["n", 1, 1, forms.T]),
                  ("seen", FLOAT, ["n", 1, 1, forms.T])]
        self.model = support.save(self.folder / "mlp.onnx", forms.nodes, inputs, [(n, FLOAT, shape) for n in (*MATCHED, *OTHERS)], forms.constants)
        feed = {n: forms.rng.standard_normal([3, *s[1:]]).astype(np.float32) for n, _, s in inputs}
        feed["mask"] = np.where(forms.rng.random([3, 1, 1, forms.T]) < 0.3, np.finfo(np.float32).min, feed["mask"]).astype(np.float32)
        feed["mask"][..., 0] = 0  # no row is masked as a whole by what is added
        feed["seen"] = np.array([[1, 0, 0, 1, 1], [0, 0, 0, 0, 0], [0, 1, 1, 1, 1]], np.float32).reshape(3, 1, 1, forms.T)
        with np.errstate(invalid="ignore"):  # of rows that see nothing
            wanted = ReferenceEvaluator(self.model).run(None, feed)

        def agrees(model):
            for name, w, g in zip((*MATCHED, *OTHERS), wanted, model(feed, n=3)):
                np.testing.assert_allclose(g, w, atol=2e-5 * np.abs(w).max(), err_msg=name)
        agrees(model := self.compiled())
        text = (self.folder / "out/mlp.lua").read_text()
        self.assertEqual(text.count('op = "attention"'), len(MATCHED))
        for reason in ("is read elsewhere, too", "multiplies by no constant number", "multiplies what a mask was added to"):
            self.assertRegex(text, f"; no attention: .*{reason}")
        products = [g for g in model.report["groups"] if g["kind"] == "gemm" and sum("MatMul" in n for n in g["nodes"]) > 1]
        self.assertEqual(len(products), 6)

        def apart(found):
            nodes = re.findall(r'"([^"]*)"', found.group(2))
            return "".join(f'{{ name = "{found.group(1)}_{i}", nodes = {{ "{n}" }} }},\n' for i, n in enumerate(nodes))
        edited = re.sub(r'\{ name = "(\w+)",\s*nodes = \{([^}]*"eager_MatMul[^}]*)\}[^}]*\},', apart, text)
        self.assertEqual(edited.count('op = "attention"'), len(MATCHED) - 1)
        (self.folder / "edited.lua").write_text(edited)
        other = self.compiled("--schedule", self.folder / "edited.lua", out="edited")
        self.assertGreater(other.report["calls"], model.report["calls"] + 10)
        agrees(other)

        # Softmax of opset 12 is of all dimensions from its axis on, which is the last one.
        older = support.save(self.folder / "older.onnx", [n for n in forms.nodes if n.name.startswith("eager")], inputs[::2], [("eager", FLOAT, shape)],
                             [c for c in forms.constants if c[0].startswith("eager")], opset=12)
        done = support.halyard("compile", older, "--name", "mlp", "-o", self.folder / "older")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('op = "attention"', (self.folder / "older/mlp.lua").read_text())
        got = support.Model(self.folder / "older", "mlp")(feed, n=3)[0]
        np.testing.assert_allclose(got, wanted[0], atol=2e-5 * np.abs(wanted[0]).max())

        def refused(changed):
            (self.folder / "edited.lua").write_text(changed)
            return self.refused("--schedule", self.folder / "edited.lua")
        self.assertIn("has several products or windows", refused(text.replace('op = "attention"', 'op = "graph"', 1)))

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

    def test_images_keep_their_channels_innermost(self):
        """A small network with free sizes: the layout changes where the image comes in and where rows of tokens leave, and kernels serve
        convolutions of several sizes."""
        rng = np.random.default_rng(6)
        constants = []

        def weights(*shape):
            constants.append((f"w{len(constants)}", rng.standard_normal(shape).astype(np.float32) / 3))
            return constants[-1][0]

        def node(op, inputs, output, **attributes):
            return helper.make_node(op, inputs, [output], name=output, **attributes)
        same, half = {"pads": [1] * 4}, {"pads": [1] * 4, "strides": [2, 1]}
        nodes = [node("Conv", ["x", weights(20, 3, 3, 3)], "a", pads=[1] * 4, strides=[2, 2]), node("HardSwish", ["a"], "b"),
                 node("Conv", ["b", weights(20, 1, 3, 3)], "c", group=20, **half), node("Relu", ["c"], "d"),
                 node("Conv", ["d", weights(40, 20, 1, 1)], "e"), node("Relu", ["e"], "f"),
                 node("Conv", ["f", weights(20, 40, 1, 1)], "g"), node("Add", ["g", "d"], "h"), node("Relu", ["h"], "i"),
                 node("Conv", ["i", weights(24, 20, 3, 3), weights(24)], "j", **same), node("Sigmoid", ["j"], "k"), node("Mul", ["j", "k"], "l"),
                 node("Conv", ["l", weights(24, 24, 3, 3), weights(24)], "m", **same), node("Sigmoid", ["m"], "n"), node("Mul", ["m", "n"], "o"),
                 node("Concat", ["o", "i"], "p", axis=1), node("Conv", ["p", weights(48, 44, 3, 3), weights(48)], "q", **same),
                 node("Sigmoid", ["q"], "r"), node("Mul", ["q", "r"], "s"), node("Conv", ["s", weights(8, 24, 3, 3)], "t", group=2),
                 node("ConvTranspose", ["t", weights(8, 5, 2, 2), weights(5)], "u", strides=[2, 2]), node("Reshape", ["u", "rows"], "v"),
                 node("Transpose", ["v"], "y", perm=[0, 2, 1])]
        constants.append(("rows", np.array([0, 5, -1], np.int64)))
        self.model = support.save(self.folder / "mlp.onnx", nodes, [("x", FLOAT, ["batch", 3, "high", "wide"])], [("y", FLOAT, ["batch", "pixels", 5])],
                                  constants)
        model = self.compiled()
        text = (self.folder / "out/mlp.lua").read_text()
        self.assertEqual(text.count('"x as 0231"'), 1)
        self.assertEqual(text.count(" as 0"), 1)  # no other change of layout
        kernel_of = {g["nodes"][0].split('"')[1]: g["kernel"] for g in model.report["groups"]}
        self.assertEqual(kernel_of["j"], kernel_of["m"])
        # The last move is joined with its product: the general form of a convolution, with what changes its places behind it.
        first = text.index('{ name = "conv_', text.index('"u before its places"') - 120)
        joined = text[:first] + text[text.index("    {", first + 5):].replace('nodes = { "u"', 'nodes = { "u before its places", "u"')
        (self.folder / "edited.lua").write_text(joined)
        other = self.compiled("--schedule", self.folder / "edited.lua", out="edited")
        self.assertEqual(other.report["calls"], model.report["calls"] - 1)
        for batch, high, wide in ((1, 21, 40), (2, 9, 13)):
            x = rng.standard_normal([batch, 3, high, wide]).astype(np.float32)
            wanted = self.wanted(x)[0]
            for m in (model, other):
                np.testing.assert_allclose(m({"x": x}, batch=batch, high=high, wide=wide)[0], wanted, atol=4e-5 * np.abs(wanted).max())

    def test_recurrent_layers(self):
        """LSTM, GRU and RNN against the formulas of ONNX in float64; their steps share kernels."""
        rng = np.random.default_rng(8)
        steps, batch, width, n = 5, 2, 12, 16
        x = rng.standard_normal([steps, batch, width]).astype(np.float32)
        h0, c0 = (rng.standard_normal([2, batch, n]).astype(np.float32) for _ in range(2))
        nodes, constants, outputs, wanted = [], [], [], []

        def sigmoid(v):
            return 1 / (1 + np.exp(-v))

        def computed(kind, w, r, b, p, after):
            made, last = [], []
            for d in range(2):
                h, c, ys = h0[d].astype(np.float64), c0[d].astype(np.float64), []
                wb, rb = b[d, :len(w[d])], b[d, len(w[d]):]
                for t in range(steps)[::-1 if d else 1]:
                    a, s = x[t] @ w[d].T + wb, h @ r[d].T + rb
                    if kind == "LSTM":
                        i, o, f, g = np.split(a + s, 4, 1)
                        pi, po, pf = np.split(p[d], 3)
                        c_new = sigmoid(f + pf * c) * c + sigmoid(i + pi * c) * np.tanh(g)
                        h, c = sigmoid(o + po * c_new) * np.tanh(c_new), c_new
                    elif kind == "GRU":
                        z, reset = np.split(sigmoid(a + s)[:, :2 * n], 2, 1)
                        inner = reset * s[:, 2 * n:] if after else (reset * h) @ r[d][2 * n:].T + rb[2 * n:]
                        h = (1 - z) * np.tanh(a[:, 2 * n:] + inner) + z * h
                    else:
                        h = np.tanh(a + s)
                    ys.append(h)
                made.append(ys[::-1] if d else ys)
                last.append(h)
            return [np.stack([np.stack(m) for m in made], 1), np.stack(last)]

        for i, (kind, gates, after) in enumerate([("LSTM", 4, 0), ("GRU", 3, 0), ("GRU", 3, 1), ("RNN", 1, 0)]):
            w, r = (rng.standard_normal([2, gates * n, k]).astype(np.float32) / 3 for k in (width, n))
            b, p = rng.standard_normal([2, 2 * gates * n]).astype(np.float32), rng.standard_normal([2, 3 * n]).astype(np.float32)
            inputs = ["x", f"w{i}", f"r{i}", f"b{i}", "", "h", *(["c", f"p{i}"] if kind == "LSTM" else [])]
            constants += [(f"w{i}", w), (f"r{i}", r), (f"b{i}", b), *([(f"p{i}", p)] if kind == "LSTM" else [])]
            more = {"linear_before_reset": after} if kind == "GRU" else {}
            nodes.append(helper.make_node(kind, inputs, [f"y{i}", f"last{i}"], name=f"layer{i}", direction="bidirectional", hidden_size=n, **more))
            outputs += [(f"y{i}", FLOAT, [steps, 2, "batch", n]), (f"last{i}", FLOAT, [2, "batch", n])]
            wanted += computed(kind, w, r, b, p, after)
        inputs = [("x", FLOAT, [steps, "batch", width]), ("h", FLOAT, [2, "batch", n]), ("c", FLOAT, [2, "batch", n])]
        self.model = support.save(self.folder / "mlp.onnx", nodes, inputs, outputs, constants)
        model = self.compiled()
        for got, want in zip(model({"x": x, "h": h0, "c": c0}, batch=batch), wanted):
            np.testing.assert_allclose(got, want, atol=2e-5)
        self.assertLess(model.report["kernels"], model.report["calls"] / 3)
        free = support.save(self.folder / "free.onnx", nodes[3:], [("x", FLOAT, ["steps", "batch", width]), inputs[1]],
                            [(o[0], FLOAT, list("abcd")[:len(o[2])]) for o in outputs[6:]], constants[-3:])
        self.assertIn("a sequence of steps steps is not supported", self.refused("--name", "mlp", model=free))

    def test_explain(self):
        """A table, an object and a page of what was compiled, at sizes of a call."""
        self.compiled()
        report = self.folder / "out/mlp.json"

        def explain(*arguments):
            return support.halyard("explain", report, "--seconds", "0.01", *arguments)
        done = explain("--json", "--shape", "rows=6")
        self.assertEqual(done.returncode, 0, done.stderr)
        groups = support.json.loads(done.stdout)["groups"]
        self.assertEqual(groups[0]["operations"], 6 * 7 * 5 * 2 + 3 * 6 * 7)
        self.assertEqual(groups[0]["bytes_saved"], 3 * 2 * 4 * 6 * 7)  # of three steps behind the product
        self.assertEqual(groups[0]["bytes"], 4 * (6 * 5 + 5 * 7 + 7 + 1 + 6 * 7))
        self.assertTrue(all(g["measured"] > 0 and g["floor"] > 0 for g in groups if g["call"]))
        page = self.folder / "page.html"
        self.assertEqual(explain("--html", page).returncode, 0)
        self.assertIn("MatMul + Add + Relu + Mul", page.read_text())
        self.assertIn("matmul_1", support.halyard("explain", report, "--predict").stdout)
        self.assertIn("it has rows", explain("--shape", "columns=6").stderr)
        self.assertIn("rows", explain("--shape", "rows=0").stderr)
        self.assertIn("a model that is compiled has its schedule", explain("--cold").stderr)
        # A report may be anybody's: of other types, or of another library than the one beside it, which writes as much as it computes.
        whole = support.json.loads(report.read_text())
        for key, other in (("calls", 1), ("inputs", []), ("outputs", whole["outputs"] * 2), ("dimensions", [])):
            report.write_text(support.json.dumps({**whole, key: other}))
            self.assertRegex(explain("--shape", "rows=6").stderr if key != "dimensions" else explain().stderr, "has other dimensions|not a size of")
        for key, other in (("calls", "many"), ("model", 7), ("dimensions", [{"name": "rows", "least": 1e300, "most": []}]), ("groups", [7]),
                           ("groups", [{"after": 1, "saved": [], "kind": {}}]), ("inputs", 3)):
            report.write_text(support.json.dumps({**whole, key: other}))
            self.assertRegex(explain().stderr, "^[^\n]*this is no report of halyard compile|has other dimensions")
        report.write_text("{}")
        self.assertIn("this is no report of halyard compile", explain().stderr)

    def test_texts_of_a_model_are_no_code(self):
        """Names that C or Lua would read otherwise: of the file, inputs, dimensions, nodes and groups."""
        bad = '*/ "\n#error of a name\n\x1b[31m'
        nodes = [helper.make_node("Add", ["int", "workspace"], ["class"], name=bad), helper.make_node("Relu", ["class"], [bad], name="int")]
        path = support.save(self.folder / "a*_]].onnx", nodes, [("int", FLOAT, ["new x", 3]), ("workspace", FLOAT, ["new_x", 3])],
                            [(bad, FLOAT, ["new x", 3])])
        done = support.halyard("compile", path, "--name", "mlp", "-o", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        model = support.Model(self.folder / "out", "mlp")
        self.assertEqual([d["name"] for d in model.report["dimensions"]], ["new_x", "new_x_2"])
        x = np.array([[1, -2, 3], [-4, 5, 6]], np.float32)
        np.testing.assert_array_equal(model({"int_": x, "workspace_": x}, new_x=2, new_x_2=2)[0], np.maximum(2 * x, 0))
        with self.assertRaisesRegex(RuntimeError, "^[^\x00-\x1f]*$"):
            model({"int_": x, "workspace_": x[:1]}, new_x=2, new_x_2=1)
        support.subprocess.run(["c++", "-fsyntax-only", "-Werror", "-x", "c++", self.folder / "out/mlp.h"], check=True)
        text = (self.folder / "out/mlp.lua").read_text()
        again = support.halyard("compile", path, "--name", "mlp", "-o", self.folder / "out", "--schedule", self.folder / "out/mlp.lua")
        self.assertEqual(again.returncode, 0, again.stderr)

        def refused(changed):
            (self.folder / "edited.lua").write_text(changed)
            return self.refused("--name", "mlp", "--schedule", self.folder / "edited.lua", model=path)
        self.assertIn("a name is letters, digits and _", refused(re.sub('name = "[^"]*"', 'name = "*/ #error"', text)))
        self.assertIn('op "gemm" is not what computes these nodes; graph does', refused(text.replace("nodes = {", 'op = "gemm", nodes = {', 1)))
        self.assertIn("is no text", refused(re.sub('name = "[^"]*"', "name = { 1 }", text)))
        self.assertIn("groups is a list of tables", refused(re.sub("groups = {", 'groups = { "a",', text)))

    def test_names_that_headers_have(self):
        """Macros and types of C, in which the names of a model become members; names that are the same but for what C cannot say."""
        names = ["size_t", "int32_t", "SIZE_MAX", "SLOTS", "MAP_FAILED", "st_mtime", "O_RDONLY", "x", "x_out"]
        nodes = [helper.make_node("Max", names, ["x."], name="n"), helper.make_node("Neg", ["x"], ["x out"])]
        shape = ["BUFSIZ", "char16_t"]
        path = support.save(self.folder / "c.onnx", nodes, [(n, FLOAT, shape) for n in names], [("x.", FLOAT, shape), ("x out", FLOAT, shape)])
        done = support.halyard("compile", path, "--name", "mlp", "-o", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        support.subprocess.run(["c++", "-fsyntax-only", "-Werror", "-x", "c++", self.folder / "out/mlp.h"], check=True)
        model = support.Model(self.folder / "out", "mlp")
        feed = {a["name"]: np.full([2, 3], i, np.float32) for i, a in enumerate(model.report["inputs"])}
        most, negative = model(feed, BUFSIZ=2, char16_t_=3)
        np.testing.assert_array_equal(most, np.full([2, 3], len(names) - 1))
        np.testing.assert_array_equal(negative, -feed["x"])

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

    def test_a_schedule_of_a_group_lies_beside_it(self):
        """NAME.lua may be anybody's: no other file is read, and nothing of it is in an error."""
        self.compiled()
        text = (self.folder / "out/mlp.lua").read_text()
        (self.folder / "secret").write_text("secret words\n")
        (self.folder / "inner").mkdir()
        (self.folder / "inner/link.lua").symlink_to("../secret")
        (self.folder / "inner/secret").write_text("secret words\n")
        os.mkfifo(self.folder / "inner/pipe.lua")
        for schedule in (str(self.folder / "secret"), "../secret", "link.lua", "secret", "./../inner/../secret", "pipe.lua", "no.lua", "/etc/passwd"):
            (self.folder / "inner/edited.lua").write_text(text.replace("nodes = {", f'op = "graph", schedule = "{schedule}", nodes = {{', 1))
            error = self.refused("--schedule", self.folder / "inner/edited.lua")
            self.assertRegex(error, r"no \.lua file in the folder|there is no schedule")
            self.assertNotIn("words", error)

    def test_sizes_of_a_call(self):
        model = self.compiled("--dim", "rows=2..8")
        with self.assertRaisesRegex(RuntimeError, "rows has to be from 2 to 8"):
            model({"x": self.x[:1]}, rows=1)
        fixed = self.compiled("--dim", "rows=4", out="fixed")
        self.assertEqual(fixed.report["dimensions"], [])
        np.testing.assert_allclose(fixed({"x": self.x})[0], self.wanted(self.x)[0], rtol=1e-5)
        self.assertIn("no free dimension of this name; it has rows", self.refused("--dim", "cols=4"))
        self.assertIn("--dim rows=5..2", self.refused("--dim", "rows=5..2"))

    def test_weights_of_another_model(self):
        model = self.compiled()
        mlp(self.folder / "mlp.onnx", weight=3.0)
        self.compiled(out="other")
        path = str(self.folder / "other/mlp.weights").encode()
        with self.assertRaisesRegex(RuntimeError, "weights of another model"):
            model.check(model.function("load")(path, support.ctypes.byref(model.model)))
        with self.assertRaisesRegex(RuntimeError, "cannot be read"):
            model.check(model.function("load")(b"/nowhere", support.ctypes.byref(model.model)))

    def test_unknown_ops_are_listed_together(self):
        nodes = [helper.make_node("NonZero", ["x"], ["a"], name="first"), helper.make_node("Abs", ["x"], ["y"], name="known"),
                 helper.make_node("Unique", ["y"], ["b"], name="second"), helper.make_node("Cast", ["a"], ["c"], to=1)]
        path = support.save(self.folder / "odd.onnx", nodes, [("x", FLOAT, [2, 3])], [("c", FLOAT, ["i", "j"]), ("b", FLOAT, ["i"])])
        error = self.refused(model=path)
        self.assertIn("2 nodes cannot be compiled (NonZero, Unique)", error)
        self.assertIn('NonZero "first", which makes "a"', error)
        self.assertIn('Unique "second", which makes "b"', error)

    def test_broken_files(self):
        self.compiled()
        bytes_ = pathlib.Path(self.model).read_bytes()
        broken = self.folder / "broken.onnx"
        for content in (b"", b"not a model", bytes_[:len(bytes_) // 2]):
            broken.write_bytes(content)
            self.assertIn("broken.onnx: error: ", self.refused("--name", "mlp", model=broken))
        named = onnx.load(self.model)
        named.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "free"
        broken.write_bytes(named.SerializeToString().replace(b"free", b"fre\xbd"))
        self.assertIn("dim_param is no text: b'fre", self.refused("--name", "mlp", model=broken))
        self.assertIn("there is no such file", self.refused(model=self.folder / "nowhere.onnx"))
        moved = onnx.load(self.model)
        onnx.save(moved, self.folder / "moved.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
        (self.folder / "weights.bin").unlink()
        self.assertIn("data of the model is missing", self.refused("--name", "mlp", model=self.folder / "moved.onnx"))
        (self.folder / "weights.bin").write_bytes(bytes(1 << 12))
        for entry, value in (("offset", "-8"), ("length", "1e3"), ("location", "../mlp.onnx"), ("location", str(self.folder / "mlp.onnx"))):
            changed = onnx.load(self.folder / "moved.onnx", load_external_data=False)
            entries = changed.graph.initializer[0].external_data
            for made in [e for e in entries if e.key == entry] or [entries.add()]:
                made.key, made.value = entry, value
            onnx.save(changed, self.folder / "changed.onnx")
            self.assertIn("changed.onnx: error: ", self.refused("--name", "mlp", model=self.folder / "changed.onnx"))

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

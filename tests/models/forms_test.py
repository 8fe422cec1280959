"""What is known in the forms that exporters write: products with their epilogues, activations, attention, images, recurrent layers, arrays of 16 bits."""

import re
import sys
import unittest

import numpy as np
import support
from attention_forms import MATCHED, OTHERS, Forms
from compile_case import Compile
from onnx import helper
from onnx.reference import ReferenceEvaluator
from support import FLOAT


def drawn_weights(rng):
    """A list of constants, and what adds one of a shape to it and gives its name."""
    constants = []

    def weights(*shape):
        constants.append((f"w{len(constants)}", rng.standard_normal(shape).astype(np.float32) / 3))
        return constants[-1][0]
    return constants, weights


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name=output, **attributes)


class KnownForms(Compile):
    def test_arrays_of_16_bits(self):
        """Products, convolutions, attention and norms round what they store, and sum in f32; the file is half as large, and its groups can be given back."""
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
        self.assertRegex(refused(text.replace('op = "attention"', 'op = "graph"', 1)), 'has several products or windows; .*; variant = "unfused"')

    def test_images_keep_their_channels_innermost(self):
        """A small network with free sizes: the layout changes where the image comes in and where rows of tokens leave, and kernels serve
        convolutions of several sizes."""
        rng = np.random.default_rng(6)
        constants, weights = drawn_weights(rng)
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

    def test_windows_of_each_channel(self):
        """Fewer rows than the window has, one strip of three, channels for half a vector and for less; of a window whose rows lie in the padding
        nothing counts."""
        rng = np.random.default_rng(9)
        constants, weights = drawn_weights(rng)
        wide, uneven = {"pads": [2] * 4}, {"pads": [3, 0, 1, 2], "dilations": [2, 1], "strides": [1, 2]}
        nodes = [node("Conv", ["x", weights(9, 5, 1, 1)], "a"), node("Conv", ["a", weights(9, 1, 5, 5), weights(9)], "b", group=9, **wide),
                 node("HardSwish", ["b"], "c"), node("Conv", ["c", weights(20, 9, 1, 1)], "d"),
                 node("Conv", ["d", weights(20, 1, 5, 5)], "e", group=20, **wide), node("Relu", ["e"], "f"),
                 node("MaxPool", ["f"], "g", kernel_shape=[5, 5], **wide), node("Conv", ["g", weights(6, 20, 1, 1)], "h"),
                 node("Conv", ["h", weights(6, 1, 3, 3)], "i", group=6, **uneven), node("Conv", ["i", weights(4, 6, 1, 1)], "y")]
        self.model = support.save(self.folder / "mlp.onnx", nodes, [("x", FLOAT, ["batch", 5, "high", "wide"])],
                                  [("y", FLOAT, ["batch", 4, "high_2", "wide_2"])], constants)
        model = self.compiled()
        for batch, high, width in ((2, 1, 3), (1, 2, 21), (2, 3, 17), (1, 4, 5), (1, 7, 16), (1, 19, 9)):
            x = rng.standard_normal([batch, 5, high, width]).astype(np.float32)
            wanted = self.wanted(x)[0]
            got = model({"x": x}, batch=batch, high=high, wide=width)[0]
            np.testing.assert_allclose(got, wanted, atol=4e-5 * np.abs(wanted).max(), err_msg=f"{batch} {high} {width}")

    def test_heads_of_a_detector(self):
        """Arrays of two levels behind each other, each of boxes and classes beside each other: a copy for each, without a question for each element.
        Pixels of several blocks, panels of weights that they all read, and a softmax of rows shorter than a vector."""
        rng = np.random.default_rng(11)
        constants, weights = drawn_weights(rng)
        constants += [("pixels", np.array([0, 27, -1], np.int64)), ("parts", np.array([20, 7], np.int64)), ("sides", np.array([0, 4, 5, -1], np.int64))]
        nodes = [node("Conv", ["x", weights(40, 3, 3, 3)], "a", pads=[1] * 4), node("Relu", ["a"], "large"),
                 node("MaxPool", ["large"], "small", kernel_shape=[2, 2], strides=[2, 2])]
        for level in ("large", "small"):
            nodes += [node("Conv", [level, weights(100, 40, 1, 1)], f"{level}_deep"), node("Relu", [f"{level}_deep"], f"{level}_relu"),
                      node("Conv", [f"{level}_relu", weights(20, 100, 1, 1), weights(20)], f"{level}_boxes"),
                      node("Conv", [f"{level}_relu", weights(7, 100, 1, 1), weights(7)], f"{level}_classes"),
                      node("Concat", [f"{level}_boxes", f"{level}_classes"], f"{level}_both", axis=1),
                      node("Reshape", [f"{level}_both", "pixels"], f"{level}_rows")]
        nodes += [node("Concat", ["large_rows", "small_rows"], "all", axis=2),
                  helper.make_node("Split", ["all", "parts"], ["boxes", "classes"], name="split", axis=1),
                  node("Reshape", ["boxes", "sides"], "of_sides"), node("Softmax", ["of_sides"], "y", axis=2), node("Sigmoid", ["classes"], "z")]
        self.model = support.save(self.folder / "mlp.onnx", nodes, [("x", FLOAT, ["batch", 3, "high", "wide"])],
                                  [("y", FLOAT, ["batch", 4, 5, "anchors"]), ("z", FLOAT, ["batch", 7, "anchors"])], constants)
        model = self.compiled()
        apart = {re.search(r'"(\w+)"', n).group(1) for g in model.report["groups"] if g["kind"] == "concat" for n in g["nodes"]}
        self.assertTrue({"large_both", "small_both", "all"} <= apart, apart)
        self.assertEqual(sum(g["kind"] == "concat" for g in model.report["groups"]), 3)
        for batch, high, wide in ((1, 33, 30), (3, 14, 17), (1, 2, 2)):
            x = rng.standard_normal([batch, 3, high, wide]).astype(np.float32) / 64  # so that no softmax is of one element alone
            for got, wanted in zip(model({"x": x}, batch=batch, high=high, wide=wide), self.wanted(x)):
                np.testing.assert_allclose(got, wanted, atol=4e-5 * np.abs(wanted).max(), err_msg=f"{batch} {high} {wide}")

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

    def test_recurrent_layers_whose_states_nobody_reads(self):
        """All of a layer makes one array then, of several products."""
        rng, nodes, constants = np.random.default_rng(9), [], []
        for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
            constants += [(f"w{kind}", rng.standard_normal([1, gates * 8, 5]).astype(np.float32)), (f"r{kind}", rng.standard_normal([1, gates * 8, 8]).astype(np.float32))]
            nodes.append(helper.make_node(kind, ["x", f"w{kind}", f"r{kind}"], [kind], hidden_size=8, name=kind))
        self.model = support.save(self.folder / "mlp.onnx", nodes, [("x", FLOAT, [2, 3, 5])], [(n.op_type, FLOAT, [2, 1, 3, 8]) for n in nodes], constants)
        x = rng.standard_normal([2, 3, 5]).astype(np.float32)
        for got, want in zip(self.compiled()({"x": x}), self.wanted(x)):
            np.testing.assert_allclose(got, want, atol=1e-5)


if __name__ == "__main__":
    sys.exit(unittest.main())

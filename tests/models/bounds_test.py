"""Models whose numbers do not fit: each is one error that names the node and what is wrong with it, when the model is read, or of the call."""

import pathlib
import re
import sys
import time
import unittest

import numpy as np
import onnx
import support
from onnx import helper
from support import FLOAT

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts/models"))

import read  # noqa: E402
from graph import MOST_DIMENSIONS, ModelError  # noqa: E402

BEYOND = 1 << 40
IMAGE = [1, 4, 8, 8]


def ints(*values):
    return np.array(values, np.int64)


def weights(*shape):
    return np.zeros(shape, np.float32)


# op, shape of x, further inputs, attributes, what the error says
BROKEN = [
    ("Conv", IMAGE, [weights(4, 4, 3, 3)], {"strides": [0, 1]}, "strides: 0 is no whole number from 1"),
    ("Conv", IMAGE, [weights(4, 4, 3, 3)], {"strides": [1, -2]}, "strides: -2 is no whole number"),
    ("Conv", IMAGE, [weights(4, 4, 3, 3)], {"strides": [BEYOND, 1]}, f"strides: {BEYOND} is no whole number"),
    ("Conv", IMAGE, [weights(4, 4, 3, 3)], {"dilations": [1 << 31, 1]}, "dilations: "),
    ("Conv", IMAGE, [weights(4, 4, 3, 3)], {"dilations": [(1 << 31) - 1, 1]}, "dilations: .* reaches beyond 32 bits"),
    ("Conv", IMAGE, [weights(4, 4, 3, 3)], {"pads": [-1, 0, 0, 0]}, "pads: -1 is no whole number from 0"),
    ("Conv", IMAGE, [weights(4, 4, 3, 3)], {"pads": [1, 1]}, "pads: 4 whole numbers are wanted"),
    ("Conv", IMAGE, [weights(4, 4, 3, 3)], {"pads": [1 << 30] * 4}, "pads: the image with its padding has more than 2\\^31"),
    ("Conv", IMAGE, [weights(4, 4, 3, 3)], {"kernel_shape": [BEYOND, 3]}, "kernel_shape: "),
    ("Conv", IMAGE, [weights(4, 4, 9, 9)], {}, "a size below 0|without elements"),
    ("Conv", IMAGE, [weights(4, 4, 3, 3)], {"group": 0}, "group: 0 is no whole number from 1"),
    ("Conv", IMAGE, [weights(3, 2, 3, 3)], {"group": 2}, "group: 2 groups do not divide 3"),
    ("Conv", IMAGE, [weights(4, 4, 3)], {}, "W has 3 dimensions"),
    ("Conv", IMAGE, [weights(4, 4, 3, 3), weights(3)], {}, "B has the shape"),
    ("ConvTranspose", IMAGE, [weights(4, 4, 2, 2)], {"strides": [BEYOND, BEYOND]}, "strides: "),
    ("ConvTranspose", IMAGE, [weights(4, 4, 2, 2)], {"strides": [1 << 20, 1 << 20]}, "more than 2\\^31"),
    ("ConvTranspose", IMAGE, [weights(4, 4, 2, 2)], {"pads": [100] * 4}, "a size below 0"),
    ("ConvTranspose", IMAGE, [weights(4, 4, 2, 2)], {"output_shape": [BEYOND, 1]}, "output_shape: "),
    ("MaxPool", IMAGE, [], {"kernel_shape": [BEYOND, 1]}, "kernel_shape: "),
    ("MaxPool", IMAGE, [], {"kernel_shape": [3, 0]}, "kernel_shape: 0 is no whole number"),
    ("MaxPool", IMAGE, [], {"kernel_shape": [3]}, "kernel_shape: 1 numbers do not go with"),
    ("AveragePool", IMAGE, [], {"kernel_shape": [1 << 30, 1 << 30], "pads": [1 << 30] * 4}, "pads: the image with its padding"),
    ("LRN", IMAGE, [], {"size": 0}, "size: 0 is no whole number"),
    ("Pad", IMAGE, [ints(*[0] * 7, BEYOND)], {}, "pads: "),
    ("Pad", IMAGE, [ints(*[0] * 7, 1 << 30)], {}, "more than 2\\^31"),
    ("Pad", IMAGE, [ints(0, 0, -9, 0, 0, 0, 0, 0)], {}, "a size below 0"),
    ("Pad", IMAGE, [ints(1, 2)], {}, "pads: 8 numbers"),
    ("Tile", IMAGE, [ints(1, 1, BEYOND, 1)], {}, "more than 2\\^31"),
    ("Tile", IMAGE, [ints(2)], {}, "repeats: 1 numbers for 4"),
    ("Expand", IMAGE, [ints(1 << 20, 1 << 20, 1, 1, 1, 1)], {}, "more than 2\\^31"),
    ("Expand", IMAGE, [ints(-3, 1, 1, 1, 1)], {}, "a size below 0"),
    ("Reshape", IMAGE, [ints(-1, -1)], {}, "shape: -1 stands in it twice"),
    ("Reshape", IMAGE, [ints(3, -1)], {}, "has not as many elements|does not go"),
    ("Reshape", IMAGE, [ints(-2, -128)], {}, "a size below 0"),
    ("Reshape", IMAGE, [ints(1, 4, 8, 8, 0)], {}, "shape: 0 takes dimension 4"),
    ("Reshape", IMAGE, [ints(*IMAGE, *[1] * MOST_DIMENSIONS)], {}, "dimensions are more than 16"),
    ("Transpose", IMAGE, [], {"perm": [0, 1, 2, BEYOND]}, "perm: "),
    ("Transpose", IMAGE, [], {"perm": [0, 1, 2, 2]}, "perm: "),
    ("Unsqueeze", IMAGE, [ints(0, BEYOND)], {}, "axes: "),
    ("Unsqueeze", IMAGE, [ints(0, 0)], {}, "names a dimension twice"),
    ("Slice", IMAGE, [ints(0), ints(4), ints(2), ints(0)], {}, "steps: 0"),
    ("Slice", IMAGE, [ints(0), ints(4), ints(2), ints(BEYOND)], {}, "steps: "),
    ("Slice", IMAGE, [ints(0), ints(4), ints(BEYOND), ints(1)], {}, "axes: "),
    ("Slice", IMAGE, [ints(5), ints(-6), ints(2), ints(1)], {}, "a size below 0|without elements"),
    ("Gather", IMAGE, [ints(8)], {"axis": 2}, "indices: 8 is none of 8"),
    ("Gather", IMAGE, [ints(-BEYOND)], {"axis": 2}, "indices: "),
    ("Gather", IMAGE, [ints(0)], {"axis": BEYOND}, "axis: "),
    ("GatherElements", [3, 4], [np.zeros([5, 4], np.int64)], {"axis": 1}, "indices have 5 elements in dimension 0, the data 3"),
    ("GatherND", [3, 4], [np.zeros([5, 2, 1], np.int64)], {"batch_dims": 1}, "indices have 5 elements in dimension 0 of the batch"),
    ("Split", IMAGE, [ints(2, 9)], {"axis": 1}, "split: "),
    ("Resize", IMAGE, [np.zeros(0, np.float32), np.array([1, 1, 1e30, 1], np.float32)], {"mode": "nearest"}, "scales: "),
    ("Resize", IMAGE, [np.zeros(0, np.float32), np.array([1, 1, -2, 1], np.float32)], {"mode": "nearest"}, "scales: "),
    ("Resize", IMAGE, [np.zeros(0, np.float32), np.zeros(0, np.float32), ints(1, 4, 1 << 20, 1 << 20)], {"mode": "nearest"}, "more than 2\\^31"),
    ("DepthToSpace", IMAGE, [], {"blocksize": 0}, "blocksize: 0"),
    ("DepthToSpace", IMAGE, [], {"blocksize": BEYOND}, "blocksize: "),
    ("Flatten", IMAGE, [], {"axis": 9}, "axis: 9"),
    ("OneHot", [4], [ints(BEYOND), np.array([0, 1], np.float32)], {}, "more than 2\\^31"),
    ("CumSum", IMAGE, [ints(7)], {}, "axis 7|axis: 7"),
    ("Gemm", IMAGE, [weights(8, 8)], {}, "A has 4 dimensions"),
    ("Einsum", IMAGE, [weights(8, 8)], {"equation": "ab,bc->ac"}, "equation: "),
    ("Einsum", IMAGE, [], {"equation": "abcb->ac"}, "an index stands twice"),
    ("Einsum", IMAGE, [weights(8, 8)], {"equation": "a...,b...->abz"}, "an index in its result"),
    ("Einsum", IMAGE, [weights(8, 8)], {"equation": "...a->a"}, "1 terms for 2 operands"),
    ("Einsum", IMAGE, [], {"equation": "ab1d->a"}, "no letter"),
    ("Einsum", IMAGE, [weights(7, 9)], {"equation": "...a,ab->...b"}, "a has two sizes"),
    ("DFT", IMAGE, [], {"axis": 1}, "a real and an imaginary part"),
    ("DFT", [1, 4096, 1], [], {"axis": 1}, "longer than 2048"),
    ("DFT", [1, 16, 1], [], {"axis": 2}, "axis: "),
    ("DFT", [1, 16, 1], [np.array(0)], {"axis": 1}, "dft_length: 0"),
    ("DFT", [1, 16, 1], [np.array(BEYOND)], {"axis": 1}, "dft_length: "),
    ("STFT", [1, 16, 1], [np.array(0), np.ones(8, np.float32)], {}, "a step of 0"),
    ("STFT", [1, 16, 1], [np.array(4), np.ones(8, np.float32), np.array(9)], {}, "do not go together"),
    ("STFT", [1, 16, 1], [np.array(4), np.ones(17, np.float32)], {}, "has 16 elements, and a frame 17"),
    ("LpPool", IMAGE, [], {"kernel_shape": [2, 2], "p": 0}, "p: 0"),
    ("LpPool", IMAGE, [], {"kernel_shape": [2, 2], "ceil_mode": 1}, "ceil_mode"),
]


class Bounds(unittest.TestCase):
    def setUp(self):
        made = support.folder()
        self.addCleanup(made.cleanup)
        self.path = pathlib.Path(made.name) / "bad.onnx"
        # The checker of the onnx package knows some of these by itself; what it knows may change.
        self.addCleanup(setattr, onnx.checker, "check_model", onnx.checker.check_model)
        onnx.checker.check_model = lambda model: None

    def refused(self, nodes, shape, constants=(), **dimensions):
        support.save(self.path, nodes, [("x", FLOAT, shape)], [("y", FLOAT, None)], constants)
        with self.assertRaises(ModelError) as caught:
            read.read(str(self.path), "bad", dimensions)
        return str(caught.exception)

    def test_numbers_of_attributes_and_inputs(self):
        for op, shape, more, attributes, says in BROKEN:
            with self.subTest(op=op, says=says, attributes=attributes):
                names = [f"c{i}" for i in range(len(more))]
                error = self.refused([helper.make_node(op, ["x", *names], ["y"], name="the node", **attributes)], shape, list(zip(names, more)))
                self.assertIn(f'{op} "the node"', error)
                self.assertRegex(error, says)

    def test_types(self):
        """Types that an op does not take, or that do not go together: what the quick form of onnx's checker lets through."""
        for op, types, says in [("Add", ["FLOAT", "INT64"], "B is int64, and A is float32; they have one type"), ("Softplus", ["INT8"], "X is int8, which it does not take"),
                                ("Where", ["FLOAT"] * 3, "condition is float32, which it does not take"), ("And", ["BOOL", "UINT8"], "B is uint8"),
                                ("Concat", ["FLOAT", "FLOAT", "FLOAT16"], "inputs is float16, and inputs is float32"), ("Gather", ["FLOAT", "FLOAT"], "indices is float32"),
                                ("Pow", ["INT32", "BOOL"], "Y is bool"), ("Not", ["UINT8"], "X is uint8"), ("Range", ["INT64", "INT64", "INT32"], "delta is int32")]:
            with self.subTest(op=op, types=types):
                inputs = [(f"x{i}", getattr(onnx.TensorProto, t), [4]) for i, t in enumerate(types)]
                attributes = {"axis": 0} if op == "Concat" else {}
                support.save(self.path, [helper.make_node(op, [n for n, _, _ in inputs], ["y"], name="the node", **attributes)], inputs, [("y", FLOAT, None)])
                with self.assertRaises(ModelError) as caught:
                    read.read(str(self.path), "bad", {})
                self.assertIn(f'{op} "the node", which makes "y": {says}', str(caught.exception))
        support.save(self.path, [helper.make_node("Pow", ["x", "e"], ["y"])], [("x", FLOAT, [4]), ("e", support.INT64, [4])], [("y", FLOAT, [4])])
        self.assertEqual(len(read.read(str(self.path), "good", {}).outputs), 1)
        support.save(self.path, [helper.make_node("Neg", ["x"], ["y"])], [("x", FLOAT, [4])], [("y", support.INT64, [4])])
        with self.assertRaisesRegex(ModelError, 'the output "y" is declared as int64, and is float32'):
            read.read(str(self.path), "bad", {})

    def test_arrays(self):
        relu = [helper.make_node("Relu", ["x"], ["y"], name="the node")]
        for shape, says in [([BEYOND], "more than 2^31"), ([1 << 16, 1 << 16], "more than 2^31"), ([2, -7], "dimension 1 is -7"),
                            ([1] * (MOST_DIMENSIONS + 1), "17 dimensions are more than 16")]:
            with self.subTest(shape=shape):
                self.assertIn(says, (error := self.refused(relu, shape)))
                self.assertIn('input "x"', error)
        for size in (0, BEYOND):
            self.assertIn("--dim n: error: sizes are from 1 to", self.refused(relu, ["n"], n=(1, size)))
        # An initializer that says of itself that it is large, or of another size than its data.
        for dims, says in [([1 << 20, 1 << 20], "more than 2^31"), ([-1, 4], "below 0"), ([3], "cannot be read")]:
            model = onnx.load(support.save(self.path, [helper.make_node("Add", ["x", "w"], ["y"])], [("x", FLOAT, [4])], [("y", FLOAT, [4])],
                                           [("w", weights(4))]))
            del model.graph.initializer[0].dims[:]
            model.graph.initializer[0].dims.extend(dims)
            onnx.save(model, self.path)
            with self.assertRaisesRegex(ModelError, f'"w"[^\n]*{re.escape(says)}'):
                read.read(str(self.path), "bad", {})

    def test_functions_that_grow(self):
        """Each calls the one before it twice: a kilobyte of a file does not make the reader write out gigabytes."""
        def function(name, nodes):
            return helper.make_function("my", name, ["a"], ["b"], nodes, [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)])

        def model(depth):
            functions = [function("f0", [helper.make_node("Relu", ["a"], ["b"])])]
            for i in range(1, depth):
                calls = [helper.make_node(f"f{i - 1}", [one], [other], domain="my") for one, other in (("a", "c"), ("c", "b"))]
                functions.append(function(f"f{i}", calls))
            info = [helper.make_tensor_value_info(n, FLOAT, [4]) for n in "xy"]
            graph = helper.make_graph([helper.make_node(f"f{depth - 1}", ["x"], ["y"], domain="my")], "test", info[:1], info[1:])
            imports = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
            onnx.save(helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=8), self.path)
        model(40)
        with self.assertRaisesRegex(ModelError, f"make {1 << 39} nodes; {read.MOST_NODES} are read at most"):
            read.read(str(self.path), "bad", {})
        model(5)
        self.assertEqual(len(read.read(str(self.path), "bad", {}).nodes), 16)

    def test_expressions_that_grow(self):
        """Each value is read twice by the next: a group that is one expression would be 2^30 operations."""
        nodes = []
        for i in range(30):
            nodes += [helper.make_node("Sin", [f"x{i}"], [f"s{i}"]), helper.make_node("Mul", [f"x{i}", f"s{i}"], [f"x{i + 1}"])]
        path = support.save(self.path, nodes, [("x0", FLOAT, [7])], [("x30", FLOAT, [7])])
        done = support.halyard("compile", path, "-o", self.path.parent, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        x = right = np.linspace(-3, 3, 7, dtype=np.float32)
        for _ in range(30):
            right = right * np.sin(right)
        np.testing.assert_allclose(support.Model(self.path.parent, "bad")({"x0": x})[0], right, rtol=1e-3, atol=1e-6)

    def test_one_opset(self):
        relu = [helper.make_node("Relu", ["x"], ["y"])]
        for domain, versions in (("", (11, 17)), ("ai.onnx", (17, 11))):
            model = onnx.load(support.save(self.path, relu, [("x", FLOAT, [4])], [("y", FLOAT, [4])], opset=versions[0]))
            model.opset_import.append(helper.make_opsetid(domain, versions[1]))
            onnx.save(model, self.path)
            with self.assertRaisesRegex(ModelError, "opsets 11 and 17 at once"):
                read.read(str(self.path), "bad", {})

    def test_thousands_of_names_that_are_one(self):
        count = 4000
        names = ["n" + "!" * i for i in range(count)]
        nodes = [helper.make_node("Relu", [n], [n + "?"]) for n in names]
        begin = time.process_time()
        graph = read.read(support.save(self.path, nodes, [(n, FLOAT, [1]) for n in names], [(n + "?", FLOAT, [1]) for n in names]), "bad", {})
        self.assertLess(time.process_time() - begin, 60)
        self.assertEqual(len({v.name for v in graph.inputs}), count)
        self.assertEqual(len(set(graph.output_names)), count)

    def test_places_of_a_resize(self):
        """They are counted in f32."""
        resize = [helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], name="the node")]
        self.assertIn("are more than 2^24", self.refused(resize, [2], [("sizes", ints((1 << 24) + 1))]))
        self.assertIn("are more than 2^24", self.refused(resize, [(1 << 24) + 1], [("sizes", ints(2))]))
        doubled = [helper.make_node("Resize", ["x", "", "scales"], ["y"], name="the node")]
        path = support.save(self.path, doubled, [("x", FLOAT, ["n"])], [("y", FLOAT, ["m"])], [("scales", np.array([2], np.float32))])
        self.assertIn("16777216 >= 2*n", [f"{a} >= {b}" for a, b, _ in read.read(path, "bad", {}).least])

    def test_constants_that_grow(self):
        """A few bytes of a file do not make the reader compute gigabytes."""
        for op, inputs, constants in [("ConstantOfShape", ["c"], [("c", ints(BEYOND, BEYOND))]), ("ConstantOfShape", ["c"], [("c", ints(1 << 15, 1 << 15))]),
                                      ("Range", ["a", "b", "c"], [("a", ints(0)[0]), ("b", ints(BEYOND)[0]), ("c", ints(1)[0])]),
                                      ("Expand", ["a", "c"], [("a", ints(1)), ("c", ints(BEYOND, 4))]),
                                      ("Tile", ["a", "c"], [("a", ints(1)), ("c", ints(BEYOND))])]:
            with self.subTest(op=op):
                nodes = [helper.make_node(op, inputs, ["big"], name="the node"), helper.make_node("Cast", ["big"], ["f"], to=1),
                         helper.make_node("ReduceMax", ["f"], ["m"], keepdims=0), helper.make_node("Add", ["x", "m"], ["y"])]
                if constants[0][1].tolist() == [1 << 15, 1 << 15]:  # fits, and is computed in a call
                    read.read(support.save(self.path, nodes, [("x", FLOAT, [1])], [("y", FLOAT, None)], constants), "bad", {})
                else:
                    self.assertIn("2^31", self.refused(nodes, [1], constants))

    def test_calls(self):
        """Sizes that fit one by one, and not together; arrays of nine dimensions and more."""
        ten = [2, 1, 3, 1, 1, 2, 1, 1, 2, 2]
        nodes = [helper.make_node("Expand", ["x", "ones"], ["wide"], name="wide"), helper.make_node("Relu", ["wide"], ["y"]),
                 helper.make_node("Transpose", ["t"], ["u"], perm=list(range(10))[::-1]), helper.make_node("Neg", ["u"], ["v"]),
                 helper.make_node("Pad", ["x", "pads"], ["p"], name="frame"), helper.make_node("Exp", ["p"], ["q"])]
        path = support.save(self.path, nodes, [("x", FLOAT, ["a", "b"]), ("t", FLOAT, ten)], [("y", FLOAT, list("ijk")), ("v", FLOAT, list("stuvwxyzcd")), ("q", FLOAT, list("lm"))],
                            [("ones", ints(2, 1, 1)), ("pads", ints(0, 0, 1 << 30, 0))])
        done = support.halyard("compile", path, "-o", self.path.parent, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        model = support.Model(self.path.parent, "bad")
        for a, b in ((1 << 20, 1 << 20), ((1 << 31) - 1, (1 << 31) - 1), (1 << 30, 2), (1, 2)):
            with self.assertRaisesRegex(RuntimeError, r"^[^\n]*(more than 2\^31 - 1|beyond 64 bits)"):
                model.measured(a=a, b=b)
        rng = np.random.default_rng(3)
        t = rng.standard_normal(ten).astype(np.float32)
        nodes = [n for n in nodes if n.op_type in ("Transpose", "Neg")]
        done = support.halyard("compile", support.save(self.path, nodes, [("t", FLOAT, ten)], [("v", FLOAT, ten[::-1])]), "-o", self.path.parent, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        np.testing.assert_array_equal(support.Model(self.path.parent, "bad")({"t": t})[0], -t.transpose())


if __name__ == "__main__":
    sys.exit(unittest.main())

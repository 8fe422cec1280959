"""Models of strangers: texts and names in them, weights of another model, unknown ops, broken files."""

import pathlib
import re
import sys
import unittest

import numpy as np
import onnx
import support
from compile_case import Compile, mlp
from onnx import helper
from support import FLOAT


class StrangeModels(Compile):
    def test_texts_of_a_model_are_no_code(self):
        """Names that C or Lua would read otherwise: of the file, inputs, dimensions, nodes and groups."""
        bad = '*/ "\n#error of a name\r\n\x1b[31m\u202e\x9b1m'
        nodes = [helper.make_node("Add", ["int", "workspace"], ["class"], name=bad), helper.make_node("Relu", ["class"], [bad], name="int")]
        path = support.save(self.folder / "a*_]].onnx", nodes, [("int", FLOAT, ["new x", 3]), ("workspace", FLOAT, ["new_x", 3])],
                            [(bad, FLOAT, ["new x", 3])])
        done = support.halyard("compile", path, "--name", "mlp", "-o", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("mlp.h", "mlp.lua", "mlp.json"):
            text = (self.folder / "out" / name).read_bytes().decode()
            self.assertEqual([c for c in text if not c.isprintable() and c != "\n"], [], name)
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

    def test_files_that_links_lead_to(self):
        """As in folders of downloads, whose names are links to files elsewhere: of a model and of its groups. Data of a model is no link."""
        self.compiled()
        wanted = (self.folder / "out/mlp.weights").read_bytes()
        onnx.save(onnx.load(self.model), self.folder / "moved.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
        links, files = self.folder / "links", self.folder / "files"
        links.mkdir()
        files.mkdir()
        for name, file in (("mlp.onnx", "mlp.onnx"), ("mlp.lua", "out/mlp.lua"), ("moved.onnx", "moved.onnx"), ("weights.bin", "weights.bin")):
            (files / f"of_{name}").write_bytes((self.folder / file).read_bytes())
            (links / name).symlink_to(f"../files/of_{name}")
        done = support.halyard("compile", links / "mlp.onnx", "-o", self.folder / "again", "--schedule", links / "mlp.lua")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "again/mlp.weights").read_bytes(), wanted)
        self.assertIn("weights.bin, but it is a symbolic link", self.refused(model=links / "moved.onnx"))

    def test_folders_of_any_name(self):
        """Of which tools that are told names in a script would take a part for a name, and what is behind it for the next word."""
        graph = support.save(self.folder / "mlp.onnx", [helper.make_node("Softmax", ["x"], ["y"])], [("x", FLOAT, ["n", 64])], [("y", FLOAT, ["n", 64])])
        for name in ("a b;c[1](2),d", "#k&l{m}", "%%%%", "\u00e9\u4e2d=\"q\"", "it's $x`\\"):
            folder = self.folder / name
            folder.mkdir()
            (folder / "of any.onnx").write_bytes(pathlib.Path(graph).read_bytes())
            before = sorted(self.folder.iterdir())
            # Without a locale, as in a service; temporary files are in a folder of such a name, too.
            bare = {"HALYARD_CACHE": str(folder / "cache"), "TMPDIR": str(folder), "LANG": "", "LC_ALL": ""}
            done = support.halyard("compile", folder / "of any.onnx", "--name", "mlp", "-o", folder / "out", "--target", "avx2", environment=bare)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = support.halyard("build", "softmax", "-o", folder / "out", "--target", "avx512,avx2", environment=bare)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(self.folder.iterdir()), before)
            self.assertEqual(sorted(f.name for f in (folder / "out").iterdir()),
                             ["libmlp.a", "mlp.h", "mlp.json", "mlp.lua", "mlp.weights", "softmax.a", "softmax.h"])

    def test_weights_of_another_model(self):
        model = self.compiled()
        mlp(self.folder / "mlp.onnx", weight=3.0)
        self.compiled(out="other")
        path = str(self.folder / "other/mlp.weights").encode()
        with self.assertRaisesRegex(RuntimeError, "weights of another model"):
            model.check(model.function("load")(path, support.ctypes.byref(model.model)))
        with self.assertRaisesRegex(RuntimeError, "cannot be read"):
            model.check(model.function("load")(b"/nowhere", support.ctypes.byref(model.model)))

    def test_a_processor_that_lacks_something(self):
        """As it would end in an illegal instruction; the last of several targets is what is asked for."""
        model = self.compiled("--target", "avx512,avx2")
        asked = []

        @support.ctypes.CFUNCTYPE(support.ctypes.c_int, support.ctypes.c_int, support.ctypes.POINTER(support.ctypes.c_uint64))
        def none(count, features):
            asked.append([features[i] for i in range(count)])
            return 0
        model.library.halide_set_custom_can_use_target_features(none)
        path = str(self.folder / "out/mlp.weights").encode()
        with self.assertRaisesRegex(RuntimeError, r"has not all that the library is compiled for \(--target\): sse41, avx, f16c, fma, avx2$"):
            model.check(model.function("load")(path, support.ctypes.byref(support.ctypes.c_void_p())))
        self.assertEqual(sum(bits.bit_count() for bits in asked[0]), 5)

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


if __name__ == "__main__":
    sys.exit(unittest.main())

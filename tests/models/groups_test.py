"""What a file of groups says: groups that are edited, searched for, or have a schedule of their own; and what explain says of them."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import numpy as np
import support
from compile_case import Compile, names
from onnx import helper
from support import FLOAT, INT64


class Groups(Compile):
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
                      "--shape", "rows=4", "--budget", "300s", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
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
        self.assertRegex(done.stderr, r"mlp: .* a call, .* of 5 changes (kept|was faster)")
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

    def test_explain_counts_what_is_taken_of_a_table(self):
        """A table of which rows are taken is not read as a whole, as one of which each element is."""
        nodes = [helper.make_node("Gather", ["table", "ids"], ["rows"], name="rows"), helper.make_node("Neg", ["rows"], ["y"], name="neg"),
                 helper.make_node("Abs", ["table"], ["z"])]
        model = support.save(self.folder / "taken.onnx", nodes, [("table", FLOAT, [1000, 8]), ("ids", INT64, ["n"])],
                             [("y", FLOAT, ["n", 8]), ("z", FLOAT, [1000, 8])])
        self.assertEqual(support.halyard("compile", model, "-o", self.folder / "out").returncode, 0)
        said = support.halyard("explain", self.folder / "out/taken.json", "--predict", "--json", "--shape", "n=6").stdout
        self.assertEqual(sorted(g["bytes"] for g in support.json.loads(said)["groups"] if g["call"]), [2 * 6 * 8 * 4 + 6 * 8, 2 * 1000 * 8 * 4])

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


if __name__ == "__main__":
    sys.exit(unittest.main())

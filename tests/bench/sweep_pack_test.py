"""scripts/gpu --sweep: what a pack has, and that the runner in it starts without torch and without this tree."""

import json
import lzma
import os
import subprocess
import sys
import tempfile
import unittest

from peers.population import draw, libraries


def python(*arguments, **more):
    return subprocess.run([sys.executable, *arguments], text=True, capture_output=True, **more)


class Pack(unittest.TestCase):
    def test_a_pack_has_cases_libraries_and_what_runs_them(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ["-m", "peers.gpu.sweep_pack", "--sweep", "2", "--seed", "1", "--devices", "emulator", folder]
            r = python(*words)
            self.assertEqual(r.returncode, 0, r.stderr)
            with open(os.path.join(folder, "sweep.json")) as f:
                pack = json.load(f)
            self.assertEqual([c["op"] for c in pack["cases"]], [c.op for c in draw.sweep(1, 0, 2, "cuda")])
            libraries_there = {os.path.join(folder, "libraries", c["library"] + ".so.xz") for c in pack["cases"]}
            for path in libraries_there:
                with lzma.open(path) as f:
                    self.assertEqual(f.read(4), b"\x7fELF")

            before = {p: os.stat(p).st_mtime_ns for p in libraries_there}
            self.assertEqual(python(*words, "--keep").returncode, 0)
            self.assertEqual({p: os.stat(p).st_mtime_ns for p in libraries_there}, before)

            alone = {n: v for n, v in os.environ.items() if n not in ("PYTHONPATH", "HALYARD_ROOT")}
            r = python("-m", "peers.gpu.sweep", "--help", cwd=folder, env=alone)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn("--budget", r.stdout)

    def test_cases_share_libraries(self):
        cases = draw.sweep(1, 0, 150, "cuda")
        self.assertLess(len({libraries.name(c) for c in cases}), 100)
        by_name = {}
        for c in cases:  # one name is one request
            self.assertEqual(by_name.setdefault(libraries.name(c), (c.op, libraries.cuda(c))), (c.op, libraries.cuda(c)))
            self.assertTrue(libraries.name(c).isidentifier())


if __name__ == "__main__":
    unittest.main()

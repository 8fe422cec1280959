"""An export is timed where there is nothing else of Halyard: its own Python, libraries and kernels."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from peers import library
from support import ROW, SMALL, bench, json_file, read


class Export(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.target = library.machine(1)["level"]

    def there(self, *options):
        """As on another machine: no path of the build tree, and a cache of its own."""
        env = {"PATH": os.environ["PATH"], "HALYARD_NO_PEERS": "1", "PYTHONDONTWRITEBYTECODE": "1",
               "HALYARD_CACHE": os.path.join(self.folder, "cache")}
        return subprocess.run([sys.executable, "-m", "peers", *options], cwd=self.folder, env=env, text=True, capture_output=True)

    def test_its_rows_are_timed_elsewhere(self):
        r = bench(*SMALL, "--export", self.folder, "--target", self.target)
        self.assertEqual(r.returncode, 0, r.stderr)
        records = json_file()
        r = self.there(*SMALL, "--json", records)
        self.assertEqual(r.returncode, 0, r.stderr)
        row = next(x for x in read(records) if x["key"] == ROW)
        self.assertGreater(row["seconds"], 1e-8)
        self.assertEqual(row["schedule"], "rms_norm")

        # What was not exported is named; a second export adds it.
        other = ["layer_norm", *SMALL[1:]]
        r = self.there(*other)
        self.assertEqual(r.returncode, 1)
        self.assertIn("is not among the kernels of this export", r.stderr)
        self.assertEqual(bench(*other, "--export", self.folder, "--target", self.target).returncode, 0)
        for options in (SMALL, other):
            self.assertEqual(self.there(*options).returncode, 0)

    def test_the_target_decides_which_schedules(self):
        r = bench("gemm", "--label", "plain", "--types", "bf16", "--shape", "m=1024,n=1024,k=1024", "--export", self.folder,
                  "--target", "avx512_sapphirerapids")
        self.assertEqual(r.returncode, 0, r.stderr)
        with open(os.path.join(self.folder, "kernels.json")) as f:
            schedules = [json.loads(k["request"])["schedule"] for k in json.load(f)]
        self.assertEqual(schedules, ["", "mma"])

    def test_models(self):
        """Compiled here, and timed there beside the peers that there are: none."""
        python = os.path.join(library.ROOT, ".halyard/models/bin/python")  # it has onnx, and numpy
        path = os.path.join(self.folder, "given/silero_vad/data/silero_vad_openvino_16k.onnx")
        os.makedirs(os.path.dirname(path))
        subprocess.run([python, "-c", "import sys, onnx, onnx.helper as h\n"
                        "x, y = (h.make_tensor_value_info(n, 1, [3, 4]) for n in 'xy')\n"
                        "onnx.save(h.make_model(h.make_graph([h.make_node('Neg', ['x'], ['y'])], 'g', [x], [y]), ir_version=8, "
                        "opset_imports=[h.make_opsetid('', 17)]), sys.argv[1])", path],
                       check=True)
        pack = os.path.join(self.folder, "pack")
        r = bench("--models", os.path.join(self.folder, "given"), "VAD", "--export", pack, "--target", self.target)
        self.assertEqual(r.returncode, 0, r.stderr)

        def there(name):
            records = json_file()
            return records, subprocess.run([python, "-m", "peers", "--models", "models", name, "--threads", "1", "--seconds", "0.01", "--json", records],
                                           cwd=pack, text=True, capture_output=True, env={"PATH": os.environ["PATH"], "HALYARD_NO_PEERS": "1",
                                                                                         "PYTHONDONTWRITEBYTECODE": "1"})
        records, r = there("VAD")
        self.assertEqual(r.returncode, 0, r.stderr)
        row, = read(records)
        self.assertEqual((row["op"], row["peer"]), ("Silero VAD, one window", None))
        self.assertGreater(row["seconds"], 1e-8)
        os.rename(os.path.join(pack, "compiled/silerovadonewindow"), os.path.join(pack, "compiled/other"))
        self.assertIn("is not among the models of this export", there("VAD")[1].stderr)

    def test_without_a_target_it_is_an_error(self):
        r = bench(*SMALL, "--export", self.folder)
        self.assertEqual(r.returncode, 1)
        self.assertIn("--target", r.stderr)


if __name__ == "__main__":
    unittest.main()

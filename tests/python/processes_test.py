"""The cache under several processes at once, and under processes that end at any moment: a library is whole, or is not there."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CODE = """
import numpy as np, halyard
op = halyard.op("rms_norm", set={"rows": 16})
y = op(np.ones((3, 40), np.float32), np.full(40, 2, np.float32))
assert np.allclose(y, 2), y
print(op.path)
"""


def start(cache):
    return subprocess.Popen([sys.executable, "-c", CODE], env={**os.environ, "HALYARD_CACHE": str(cache)}, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, start_new_session=True)


class Processes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name)

    def ends_well(self, process):
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        return out.strip()

    def left(self):
        return sorted(p.name for p in (self.cache / "libraries").iterdir())

    def test_several_at_once_make_one_library(self):
        paths = {self.ends_well(p) for p in [start(self.cache) for _ in range(6)]}
        self.assertEqual(len(paths), 1)
        name = pathlib.Path(paths.pop()).stem
        self.assertEqual(self.left(), [name + ".json", name + ".so"])

    def test_one_that_waits_goes_on_where_the_builder_dies(self):
        first = start(self.cache)
        time.sleep(0.4)
        second = start(self.cache)
        time.sleep(0.1)
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
        self.ends_well(second)

    def test_a_build_that_is_killed_leaves_nothing_that_counts(self):
        chance = random.Random(1)
        for number in range(12):
            process = start(self.cache)
            time.sleep(chance.uniform(0.1, 1.0))
            os.killpg(process.pid, signal.SIGKILL if number % 2 else signal.SIGINT)
            process.communicate()
            for library in self.cache.glob("libraries/*.so"):
                self.assertEqual(library.read_bytes()[:4], b"\x7fELF")
                self.assertTrue(library.with_suffix(".json").exists())
                library.unlink()  # built, so that the next one has something to do
        time.sleep(2.5)  # what is younger may be on its way to its lock
        # The next build takes away what those before it have left.
        name = pathlib.Path(self.ends_well(start(self.cache))).stem
        self.assertEqual(self.left(), [name + ".json", name + ".so"])


if __name__ == "__main__":
    unittest.main()

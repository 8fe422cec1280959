"""Sequences that a GPU reads a token of at once have the bits that each has alone.

usage: gpu_together_test.py PROGRAM FOLDER"""

import os
import pathlib
import subprocess
import sys
import unittest

try:
    from tiny import write_tiny
except ImportError:
    print("numpy is not installed: scripts/setup brings it for Python 3.11")
    sys.exit(77)

FOLDER = pathlib.Path(sys.argv.pop(2))
PROGRAM = sys.argv.pop(1)


class GpuTogetherTest(unittest.TestCase):
    def check(self, name, sequences, farthest, steps, *caches, **environment):
        FOLDER.mkdir(parents=True, exist_ok=True)
        model = FOLDER / f"{name}.gguf"
        write_tiny(model, name)
        command = [PROGRAM, model, *map(str, (sequences, farthest, steps, *caches))]
        done = subprocess.run(command, capture_output=True, check=False, text=True, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, f"{name}: {done.stdout}{done.stderr}")
        self.assertGreater(int(done.stdout.split()[2]), 250 * sequences * (steps - 1))  # logits

    def test_every_kind_of_model(self):
        for name in ("llama", "qwen2", "gemma3", "k_quants"):  # pairs that are neighbours or halves, norms of heads, blocks of 256
            with self.subTest(name):
                self.check(name, 3, 9, 2 if name == "gemma3" else 4)

    def test_more_than_a_pass_takes(self):
        self.check("qwen2", 9, 4, 2)

    def test_other_caches(self):
        for name in ("llama", "qwen3"):
            with self.subTest(name):
                self.check(name, 4, 7, 2, 2, 3)  # bf16, int8

    def test_caches_of_all_kinds_beside_each_other(self):
        self.check("qwen2", 6, 5, 3, 1, 2, 3)

    def test_a_device_that_reserves_no_addresses(self):
        self.check("llama", 3, 5, 2, HALYARD_EMULATOR_VIRTUAL_MEMORY="0")


unittest.main()

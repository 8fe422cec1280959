"""The program for a GPU: what its table says of a token.

usage: gpu_program_test.py PROGRAM"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    from tiny import write_tiny
except ImportError:
    print("numpy is not installed: scripts/setup brings it for Python 3.11")
    sys.exit(77)

PROGRAM = sys.argv.pop(1)


class GpuProgramTest(unittest.TestCase):
    def test_explain_counts_what_a_token_reads_and_computes(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "llama.gguf"
            write_tiny(model, "llama")
            done = subprocess.run([PROGRAM, "--model", model, "--explain", "--depth", "10"], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [[c.strip() for c in line.split("|")[1:-1]] for line in done.stdout.decode().splitlines()]
        rows = {cells[0]: tuple(map(int, cells[1:4])) for cells in lines if len(cells) > 4 and cells[1].isdigit()}
        # Two layers with 20 bytes for 32 weights; 160 inner, 96 wide, 6 heads, keys and values of 32 in f16.
        products = {"norm, q, k, v": (96, 96 + 32 + 32), "attention's output": (96, 96), "norm, gate, up": (96, 160 + 160), "down": (160, 96)}
        weights = 0
        for op, (k, n) in products.items():
            read = 2 * k * n // 32 * 20
            self.assertEqual(rows[op], (2, read, 2 * 2 * k * n))
            weights += read
        keys = 10 + 4
        self.assertEqual(rows["attention"], (2, 2 * 2 * 2 * keys * 32, 2 * 2 * 2 * keys * 96))
        self.assertEqual(rows["all"][1], weights + rows["norm, head"][1] + rows["attention"][1])


unittest.main()

"""Printed kernels whose warps read what TMA has fetched, and hand it back: with their fences they are right on the emulator, without them a race.

The kernels are compiled by a program of this test (CXX), which takes fences out of their text, or leaves it as it is.
"""

import os
import shutil
import subprocess
import tempfile
import unittest

CACHE = tempfile.TemporaryDirectory()
HALYARD = os.path.join(os.environ["HALYARD_ROOT"], "bin", "halyard")
EMULATED = ("--param", "type=bfloat16", "--target", "cuda", "--devices", "emulator", "--seconds", "0.01")
KERNELS = {
    "skinny": ("swiglu", "--schedule", "skinny", "--param", "weights=nk", "--shape", "m=16,n=64,k=2048"),
    "block program": ("gemm_q", "--param", "format=int4", "--param", "rounded=true", "--param", "group_size=128", "--set", "rows=16", "--set", "columns=32",
                      "--set", "warps=4", "--set", "stages=8", "--shape", "m=16,n=64,k=2048"),
}
COMPILER = """#!/bin/sh
if [ -e kernels.cpp ]; then  # it links, too
    grep -q '^ *fence_shared();$' kernels.cpp || exit 3
    {edit}
fi
exec {compiler} "$@"
"""


def run(kernel, edit):
    """(status, what was said) of a call whose kernels' text is edited so."""
    with tempfile.TemporaryDirectory() as folder:
        compiler = os.path.join(folder, "c++")
        with open(compiler, "w") as f:
            f.write(COMPILER.format(edit=edit, compiler=shutil.which("clang++") or shutil.which("c++")))
        os.chmod(compiler, 0o755)
        shutil.rmtree(os.path.join(CACHE.name, "kernels"), ignore_errors=True)  # and keep what was measured of the machine
        env = {**os.environ, "CXX": compiler, "HALYARD_CONFINE_READS": folder, "HALYARD_CACHE": CACHE.name}
        r = subprocess.run([HALYARD, "bench", *KERNELS[kernel], *EMULATED], text=True, capture_output=True, env=env)
        return r.returncode, r.stdout + r.stderr


class Fences(unittest.TestCase):
    def test_with_its_fences_a_kernel_is_right(self):
        for kernel in KERNELS:
            status, said = run(kernel, ":")
            self.assertEqual(status, 0, said)

    def test_without_them_the_emulator_finds_reads_that_tma_overtakes(self):
        for kernel in KERNELS:
            status, said = run(kernel, "sed -i '/^ *fence_shared();$/d' kernels.cpp")
            self.assertNotEqual(status, 0, said)
            self.assertRegex(said, r"race: TMA, which loads from \w+ for the barrier at byte \d+, writes element \d+ of the shared array")
            self.assertIn("has read without fence_shared() before the barrier that says so", said)


if __name__ == "__main__":
    unittest.main()

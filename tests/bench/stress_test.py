"""scripts/gpu --stress: what a pack has, that the runner in it starts without torch and without this tree, and what it finds.

Cases run where torch is installed, on the emulated GPU (HALYARD_CUDA_DRIVER).
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

from peers.gpu import stress
from peers.gpu.stress_cases import STRESSED, in_order

SCHEDULES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "schedules", "cuda")
CALLED = ("softmax_bfloat16", "expert_sort")


def python(*arguments, **more):
    return subprocess.run([sys.executable, *arguments], text=True, capture_output=True, **more)


def can_call():
    return importlib.util.find_spec("torch") is not None and os.environ.get("HALYARD_CUDA_DRIVER")


class Cases(unittest.TestCase):
    def test_every_schedule_is_called_at_two_sizes(self):
        called = {(c.op, c.schedule) for c in STRESSED}
        for name in os.listdir(SCHEDULES):
            op, variant, _ = name.split(".") if name.count(".") == 2 else (name.split(".")[0], "", "")
            self.assertIn((op, variant), called)
        for c in STRESSED:
            self.assertGreaterEqual(len(c.checked), 2, c.library(c.types[0]))

    def test_a_library_is_one_request_and_each_is_called_once_before_any_twice(self):
        names = [c.library(c.types[0]) for c in STRESSED]
        self.assertEqual(len(set(names)), len(names))
        order = [name for _, _, _, _, name in in_order()]
        self.assertEqual(set(order[:len(names)]), set(names))


class Report(unittest.TestCase):
    RIGHT = {"index": 0, "name": "softmax_bfloat16", "op": "softmax", "label": "", "dims": {"rows": 3, "cols": 7}, "calls": 300, "wrong": 0}

    def content(self, *records, failed=()):
        return {"records": list(records), "failed": list(failed)}

    def test_the_status_says_whether_anything_was_wrong(self):
        self.assertEqual(stress.status(self.content(self.RIGHT)), 0)
        self.assertEqual(stress.status(self.content(self.RIGHT, {**self.RIGHT, "wrong": 1})), 1)
        self.assertEqual(stress.status(self.content({**self.RIGHT, "message": "1 of 7 are NaN"})), 1)
        self.assertEqual(stress.status(self.content(self.RIGHT, failed=[{"name": "x", "dims": {}, "message": "the process ended"}])), 1)

    def test_the_table_names_what_was_wrong(self):
        text = "\n".join(stress.table(self.content(self.RIGHT, {**self.RIGHT, "wrong": 7, "version": "version 2"}), 5))
        self.assertIn("WRONG softmax_bfloat16 {'rows': 3, 'cols': 7}: 7 of 300; version 2", text)
        self.assertIn("2 cases, 1 wrong, 0 failed, 5 left", text)


class Pack(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        r = python("-m", "peers.gpu.stress_pack", "--stress", "--devices", "emulator", "--only", ",".join(CALLED), self.folder)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.libraries = os.path.join(self.folder, "unpacked")
        stress.unpack(self.folder, self.libraries)

    def test_a_pack_has_libraries_and_what_runs_them(self):
        with open(os.path.join(self.folder, "stress.json")) as f:
            pack = json.load(f)
        self.assertEqual((sorted(pack["libraries"]), pack["reused"], pack["failed"]), (sorted(CALLED), [], {}))
        for name in CALLED:
            with open(os.path.join(self.libraries, name + ".so"), "rb") as f:
                self.assertEqual(f.read(4), b"\x7fELF")
        alone = {n: v for n, v in os.environ.items() if n not in ("PYTHONPATH", "HALYARD_ROOT")}
        r = python("-m", "peers.gpu.stress", "--help", cwd=self.folder, env=alone)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("--budget", r.stdout)

    def test_libraries_that_were_built_before_are_named(self):
        again = os.path.join(self.folder, "again")
        r = python("-m", "peers.gpu.stress_pack", "--stress", "--libraries", self.libraries, "--only", CALLED[0], again)
        self.assertEqual(r.returncode, 0, r.stderr)
        with open(os.path.join(again, "stress.json")) as f:
            self.assertEqual(json.load(f)["reused"], [CALLED[0]])

    @unittest.skipUnless(can_call(), "without torch")
    def test_right_libraries_are_right_and_a_fault_beside_copies_is_found(self):
        from emulated_device import Emulated, EmulatedLibrary
        from peers.gpu import stress_calls

        class Faulty(EmulatedLibrary):
            """Beside copies, its last call is wrong in one element."""

            def call(self, values):
                right, copies, y = super().call(values), self.device.traffic, list(values.values())[-1]

                def run():
                    right()
                    copies.calls = getattr(copies, "calls", 0) + 1
                    if copies.calls == 1 + stress_calls.QUIET + 3:
                        y.view(-1)[0] = 5
                return run

        class Wrong(EmulatedLibrary):
            def call(self, values):
                right, y = super().call(values), list(values.values())[-1]

                def run():
                    right()
                    y.view(-1)[1] = float("nan")
                return run

        def run(make=EmulatedLibrary):
            class Device(Emulated):
                def library(self, path, function):
                    return make(self, path, function)
            o = stress.options(["--json", os.path.join(self.folder, "result.json"), "--calls", "3", "--megabytes", "1"])
            cases = [c for c in stress.chosen(o, self.folder)[1] if c[2] in (dict(rows=5, cols=1000), dict(tokens=7, top_k=3, experts=5))]
            results = stress.Results(o.json, again=True)
            stress_calls.work(o, self.libraries, cases if make is EmulatedLibrary else cases[:1], results, time.time() + 300, Device)
            return results.content

        content = run()
        self.assertEqual(([r["wrong"] for r in content["records"]], content["failed"]), ([0, 0], []))
        self.assertEqual([r["calls"] for r in content["records"]], [3, 3])
        self.assertEqual([(r["wrong"], r["most_elements"]) for r in run(Faulty)["records"]], [(1, 1)])
        self.assertEqual([r["message"] for r in run(Wrong)["records"]], ["1 of 5000 are NaN"])


if __name__ == "__main__":
    unittest.main()

"""Machines that answer anything: a search goes on without them, or ends with an error that names them. This file is also the program
that stands for scripts/workers, as HALYARD_WORKERS_PYTHON, with machines that nobody has."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

COMMAND = pathlib.Path(os.environ["HALYARD_BUILD"]) / "bin" / "halyard"
MEMORY = {"name": "memory", "bytes": 1e9, "read": 1e10, "written": 1e10}
NO_UNITS = {"lanes": 0, "tiles": 0}
MACHINE = {"levels": [MEMORY], "hertz": 3e9, "streamed": 1e10, "page_seconds": 1e-7, "bf16": NO_UNITS, "bytes": NO_UNITS}
RIGHT = {"status": "ok", "message": "", "median": 1e-3, "least": 1e-3, "lower": 1e-3, "upper": 1e-3, "samples": 5, "whole": True}


def answer_to(request, wrong):
    if request["step"] == wrong:
        contest = {"all": [], "noise": 0.1, "busy": ""}
        return {"machine": 7, "reference": [], "run": {"measured": {"status": 3}}, "turns": {"measured": [], "contest": contest}}[wrong]
    if request["step"] == "machine":
        return {"machine": MACHINE}
    if request["step"] == "turns":
        all_ = [{"code": 0, "message": "", "rounds": [1e-3] * 5} for _ in request["built"]]
        return {"measured": [RIGHT for _ in all_], "contest": {"all": all_, "noise": 0.1, "busy": ""}}
    return {"measured": RIGHT}


def answer_lines(wrong):
    for line in sys.stdin:
        told, said = json.loads(line), []
        if "address" in told:
            facts = {**json.loads(os.environ["HALYARD_TEST_FACTS"]), **({"processors": "many"} if wrong == "facts" else {})}
            said = [{"slot": slot, "name": f"machine-{slot}", "facts": facts} for slot in range(2)] + [{"ready": True}]
        elif "job" in told:
            said = [{"job": told["job"], "slot": told["slot"], "answer": answer_to(told["request"], wrong)}]
        for one in said:
            print(json.dumps(one), flush=True)


class Hostile(unittest.TestCase):
    def search(self, wrong, kind):
        with tempfile.TemporaryDirectory() as folder:
            python = pathlib.Path(folder) / "python"
            python.write_text(f"#!/bin/sh\nexec {sys.executable} {pathlib.Path(__file__).resolve()} {wrong}\n")
            python.chmod(0o755)
            facts = {"machine": kind, "level": "avx2", "processors": 2, "device": "", "architecture": "", "confined": True}
            environment = {**os.environ, "HALYARD_WORKERS_PYTHON": str(python), "HALYARD_TEST_FACTS": json.dumps(facts),
                           "HALYARD_DB": f"{folder}/schedules.db"}
            return subprocess.run([COMMAND, "explore", "softmax", "--shape", "rows=8,cols=64", "--budget", "10", "--workers", "auto",
                                   "--workers-kind", kind, "-o", f"{folder}/found.lua"], env=environment, capture_output=True, text=True,
                                  timeout=120)

    def test_what_is_not_understood_is_said(self):
        for wrong in ("facts", "machine", "reference", "run", "turns"):
            with self.subTest(wrong):
                result = self.search(wrong, "Nobody's")
                said = result.stdout + result.stderr
                self.assertIn(result.returncode, (0, 1), said)
                # How far a search comes, a slow machine decides.
                if wrong in ("facts", "machine") or "exception" in said:
                    self.assertIn("not understood", said)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        answer_lines(sys.argv[1])
    else:
        unittest.main()

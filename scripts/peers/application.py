"""minilm as a row of the table: apps/minilm/peers/bench.py, whose contestants are processes of their own."""

import json
import os
import subprocess
import sys
import tempfile
import time

from . import measure
from .library import BUILD, EXPORTED, ROOT, Failure

OP, FAMILY = "minilm", "application"
CASES = ("1x16", "1x64", "1x256", "32x64", "32x128")
TYPES = ("f32", "bf16")
LAYERS, WIDTH, INNER = 6, 384, 1536
PROGRAM, MODEL = os.path.join(BUILD, "apps/minilm/minilm"), os.path.join(ROOT, ".halyard/minilm")


def flops(case):
    """Of the encoder: the products of its layers, and both of attention."""
    batch, tokens = map(int, case.split("x"))
    return batch * tokens * LAYERS * (2 * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER) + 4 * tokens * WIDTH)


def build():
    """The program, unless it came with an export; throws Failure."""
    built = not EXPORTED and subprocess.run([os.path.join(ROOT, ".halyard/venv/bin/ninja"), "-C", BUILD, "minilm"],
                                            capture_output=True, text=True)
    if built and built.returncode or not os.path.exists(MODEL):
        raise Failure("minilm does not build, or its weights are missing: scripts/setup; " + (built.stdout[-300:] if built else ""))


def row(machine, case, kind, options):
    """The record of a case; throws Failure."""
    build()
    # An export has the libraries that the program is linked with.
    serve = f"env LD_LIBRARY_PATH={BUILD}/lib {PROGRAM} --model {MODEL} --serve-bench --threads {machine.threads} " \
            f"--type {kind} --sentences {ROOT}/apps/minilm/data/sentences.txt"
    with tempfile.TemporaryDirectory() as folder, options.lock:
        out = os.path.join(folder, "rows.json")
        r = subprocess.run([sys.executable, os.path.join(ROOT, "apps/minilm/peers/bench.py"), "--model", MODEL,
                            "--threads", str(machine.threads), "--cases", case, "--type", kind,
                            "--seconds", str(4 * options.seconds), "--rounds", str(measure.REPEATS),
                            "--halyard", serve, "--json", out], capture_output=True, text=True)
        if not os.path.exists(out):
            raise Failure(f"apps/minilm/peers/bench.py: {r.stderr.strip()[-300:]}")
        with open(out) as f:
            rows = json.load(f)
    wrong = [line for line in r.stderr.splitlines() if line.startswith("WRONG")]
    return record(machine, case, kind, [row for row in rows if row["schedule"] == "fused"], wrong)


def record(machine, case, kind, rows, wrong):
    best = min(rows, key=lambda r: r["peer_seconds"])
    floor = flops(case) / machine.flops(kind, "GEMM")
    own, seconds = best["rounds"], best["seconds"]
    peers = [min(times) for times in zip(*[r["peer_rounds"] for r in rows])]
    return {
        "key": f"{OP} {case} {kind} warm {machine.threads}t", "op": OP, "label": "", "family": FAMILY, "shape": case,
        "type": kind, "target": "host", "schedule": "fused", "threads": machine.threads, "cache": "warm",
        "bytes": 0, "flops": flops(case), "floor_seconds": floor, "bound": "arithmetic", "seconds": seconds,
        "seconds_median": best["seconds_median"], "roof_fraction": floor / seconds,
        "roof_quartiles": list(measure.quartiles([floor / t for t in own])),
        "peer": best["peer"], "peer_seconds": best["peer_seconds"], "ratio": best["peer_seconds"] / seconds,
        "ratio_quartiles": list(measure.quartiles([p / o for p, o in zip(peers, own)])),
        "contestants": {"fused": {"least": seconds, "median": best["seconds_median"]},
                        **{r["peer"]: {"least": r["peer_seconds"], "median": r["peer_seconds_median"]} for r in rows}},
        "notes": wrong, "wrong": wrong, "machine": machine.name, "time": time.strftime("%Y-%m-%d %H:%M:%S")}

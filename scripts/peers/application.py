"""minilm as a row of the table: apps/minilm/peers/bench.py, whose contestants are processes of their own."""

import json
import os
import subprocess
import sys
import tempfile
import time

from . import measure
from .library import BUILD, ROOT, Failure

OP, FAMILY = "minilm", "application"
CASES = ("1x16", "1x64", "1x256", "32x64", "32x128")
LAYERS, WIDTH, INNER = 6, 384, 1536


def flops(case):
    """Of the encoder: the products of its layers, and both of attention."""
    batch, tokens = map(int, case.split("x"))
    return batch * tokens * LAYERS * (2 * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER) + 4 * tokens * WIDTH)


def records(machine, cases, options):
    """Of the cases, one thread count; throws Failure."""
    program, model = os.path.join(BUILD, "apps/minilm/minilm"), os.path.join(ROOT, ".halyard/minilm")
    built = subprocess.run([os.path.join(ROOT, ".halyard/venv/bin/ninja"), "-C", BUILD, "minilm"], capture_output=True,
                           text=True)
    if built.returncode or not os.path.exists(model):
        raise Failure(f"minilm does not build, or its weights are missing: scripts/setup; {built.stdout[-300:]}")
    serve = f"{program} --model {model} --serve-bench --threads {machine.threads} " \
            f"--sentences {ROOT}/apps/minilm/data/sentences.txt"
    with tempfile.TemporaryDirectory() as folder, options.lock:
        out = os.path.join(folder, "rows.json")
        r = subprocess.run([sys.executable, os.path.join(ROOT, "apps/minilm/peers/bench.py"), "--model", model,
                            "--threads", str(machine.threads), "--cases", ",".join(cases),
                            "--seconds", str(4 * options.seconds), "--rounds", str(measure.REPEATS),
                            "--halyard", serve, "--json", out], capture_output=True, text=True)
        if not os.path.exists(out):
            raise Failure(f"apps/minilm/peers/bench.py: {r.stderr.strip()[-300:]}")
        with open(out) as f:
            rows = json.load(f)
    wrong = [line for line in r.stderr.splitlines() if line.startswith("WRONG")]
    for case in cases:
        mine = [row for row in rows if row["shape"] == case and row["schedule"] == "fused"]
        yield record(machine, case, mine, [w for w in wrong if w.endswith(f" {case}")])


def record(machine, case, rows, wrong):
    best = min(rows, key=lambda r: r["peer_seconds"])
    floor = flops(case) / machine.about["flops"]
    own, seconds = best["rounds"], best["seconds"]
    peers = [min(times) for times in zip(*[r["peer_rounds"] for r in rows])]
    return {
        "key": f"{OP} {case} f32 warm {machine.threads}t", "op": OP, "label": "", "family": FAMILY, "shape": case,
        "type": "f32", "target": "host", "schedule": "fused", "threads": machine.threads, "cache": "warm",
        "bytes": 0, "flops": flops(case), "floor_seconds": floor, "bound": "arithmetic", "seconds": seconds,
        "seconds_median": best["seconds_median"], "roof_fraction": floor / seconds,
        "roof_quartiles": list(measure.quartiles([floor / t for t in own])),
        "peer": best["peer"], "peer_seconds": best["peer_seconds"], "ratio": best["peer_seconds"] / seconds,
        "ratio_quartiles": list(measure.quartiles([p / o for p, o in zip(peers, own)])),
        "contestants": {"fused": {"least": seconds, "median": best["seconds_median"]},
                        **{r["peer"]: {"least": r["peer_seconds"], "median": r["peer_seconds_median"]} for r in rows}},
        "notes": wrong, "wrong": wrong, "machine": machine.name, "time": time.strftime("%Y-%m-%d %H:%M:%S")}

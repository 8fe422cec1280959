"""Calls the cases of a pack (scripts/gpu --stress) while other streams keep the memory busy, on a machine with a GPU and torch.

    python3 -m peers.gpu.stress --json FILE [--calls N] [--budget SECONDS] [--ops OP,...]      in the folder of the pack

Each case is computed alone first and checked against its reference, then N times while threads with streams of their own copy large
buffers. Every result has to be the bits of the first: nothing is added up by atomics (docs/reference/same_bits.md). FILE has a record a case: how
many calls there were, how many were wrong, and in how many elements at most. The exit status is 1 where any was, or a case failed.

A kernel that does not wait for what it reads, or lets others overwrite it, is often right alone, as what it forgot is done soon. Beside
copies, that takes longer.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time

from . import sweep
from .stress_cases import in_order

FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def options(arguments=None):
    p = argparse.ArgumentParser(prog="python3 -m peers.gpu.stress", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--json", default="stress-result.json", metavar="FILE")
    p.add_argument("--calls", type=int, default=300, help="of each case beside other work; where time runs short, fewer [300]")
    p.add_argument("--budget", type=float, default=380, help="seconds in all; cases that have not begun by then are left out [380]")
    p.add_argument("--ops", type=lambda t: t.split(","), default=[], help="only these, with commas")
    p.add_argument("--streams", type=int, default=2, help="that copy [2]")
    p.add_argument("--megabytes", type=int, default=256, help="of a copy [256]")
    for hidden in ("--worker", "--until", "--libraries"):
        p.add_argument(hidden, help=argparse.SUPPRESS)
    return p.parse_args(arguments)


class Results(sweep.Results):
    def done(self):
        return {r["index"] for kind in ("records", "failed") for r in self.content[kind]}


def chosen(o, folder=FOLDER):
    """(pack, [(index, case, dims, kind, library)]): first one size of each library, then another."""
    with open(os.path.join(folder, "stress.json")) as f:
        pack = json.load(f)
    return pack, [c for c in in_order() if c[4] in pack["libraries"] and (not o.ops or c[1].op in o.ops)]


def is_wrong(record):
    return "message" in record or record["wrong"] > 0


def table(content, left):
    """A line an op, then what was wrong."""
    ops = {}
    for r in content["records"]:
        ops.setdefault(r["op"], []).append(r)
    yield f"{'op':24} {'cases':>5} {'calls':>7} {'wrong alone':>11} {'wrong beside copies':>20}"
    for op, records in sorted(ops.items()):
        yield (f"{op:24} {len(records):5} {sum(r.get('calls', 0) for r in records):7} {sum('message' in r for r in records):11} "
               f"{sum(r.get('wrong', 0) for r in records):20}")
    for r in filter(is_wrong, content["records"]):
        yield f"WRONG {r['name']} {r['dims']}: " + r.get("message", f"{r.get('wrong')} of {r.get('calls')}; {r.get('version') or ''}")
    for f in content["failed"]:
        yield f"FAILED {f['name']} {f['dims']}: {f['message']}"
    yield (f"{len(content['records'])} cases, {sum(map(is_wrong, content['records']))} wrong, {len(content['failed'])} failed, {left} left")


def status(content):
    return 1 if content["failed"] or any(map(is_wrong, content["records"])) else 0


def unpack(folder, into):
    """The libraries of the pack."""
    checked = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # which Python has from 3.11.4 on
    with tarfile.open(os.path.join(folder, "libraries.tar.xz")) as archive:
        archive.extractall(into, **checked)


def supervise(o):
    """Starts the process that calls, and a new one where a case took it down: that case has failed."""
    with tempfile.TemporaryDirectory() as libraries:
        began = time.time()
        unpack(FOLDER, libraries)
        return call_all(o, libraries, began)


def call_all(o, libraries, began):
    pack, cases = chosen(o)
    results = Results(o.json, again=True)
    results.update(commit=pack["commit"], reused=pack["reused"], devices=pack["devices"], asked_calls=o.calls, streams=o.streams, megabytes=o.megabytes)
    words = ["--json", o.json, "--calls", str(o.calls), "--streams", str(o.streams), "--megabytes", str(o.megabytes), "--libraries", libraries]
    words += ["--ops", ",".join(o.ops)] if o.ops else []
    until = began + o.budget
    while True:
        before = Results(o.json).done()
        if all(c[0] in before for c in cases) or time.time() > until - 3:
            break
        process = subprocess.Popen([sys.executable, "-m", "peers.gpu.stress", *words, "--worker", "1", "--until", str(until)], stdout=subprocess.PIPE, text=True)
        at = sweep.watch(process, until)
        results = Results(o.json)
        if process.returncode and at is not None and at["index"] not in results.done():
            results.add("failed", {**at, "message": f"the process ended with code {process.returncode}"})
        elif process.returncode and results.done() == before:
            sys.exit(f"error: the process that calls ended with code {process.returncode} before its first case")
        elif not process.returncode:
            break
    results = Results(o.json)
    results.update(seconds=round(time.time() - began, 1))
    print("\n".join(table(results.content, len(cases) - len(results.done()))), flush=True)
    return status(results.content)


def main():
    o = options()
    o.json = os.path.abspath(o.json)
    if o.worker:
        from .stress_calls import work
        return work(o, o.libraries, chosen(o)[1], Results(o.json), float(o.until))
    return supervise(o)


if __name__ == "__main__":
    sys.exit(main())

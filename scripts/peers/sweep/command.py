"""scripts/bench --sweep: runs a host's cases, or takes the runs of --from; the report, the picture, what fell."""

import json
import os
import signal
import sys

from .. import library, performance
from . import against, kept, report
from .picture import draw

FOLDER = os.path.join(library.BUILD, "bench")


def host_run(Run):
    """The kind of run that times the population: Run has the workers, and keeps what they say for --resume."""
    class Sweep(Run):
        def task(self, threads):
            return {**super().task(threads), "sweep": [self.o.seed, self.o.first, self.o.sweep]}

        def question(self):
            return {**super().question(), "sweep": [self.o.seed, self.o.first, self.o.sweep]}
    return Sweep


def measured(o, Run):
    """(run, whether it was interrupted)"""
    run = host_run(Run)(o)
    stopped = False
    try:
        run.run()
    except KeyboardInterrupt:
        stopped = True
    failed = [{"key": key, "message": message} for key, message in (f.split(": ", 1) for f in run.failures)]
    failed += [{"key": r["key"], "message": n} for r in run.records for n in r["notes"] if n.startswith("WRONG: halyard")]
    count = len(run.records) + len(failed) if o.ops else o.sweep * len(o.threads)
    return {"target": "host", "seed": o.seed, "count": count, "records": run.records, "failed": failed}, stopped


def given(paths):
    """The runs of several files as one: of each case the last."""
    runs = []
    for path in paths:
        with open(path) as f:
            runs.append(json.load(f))
    if len({r["target"] for r in runs}) > 1:
        sys.exit("error: --from has runs of a host and of a GPU; a report is of one")
    records = {(r["case"]["index"], r["key"]): r for run in runs for r in run["records"]}
    timed = {key for _, key in records}
    failed = {f["key"]: f for run in runs for f in run["failed"] if f["key"] not in timed}
    merged = {**runs[-1], "records": list(records.values()), "failed": list(failed.values())}
    merged["count"] = max(r.get("count", 0) for r in runs)
    return merged


def main(o, Run):
    if o.given:
        run, stopped = given(o.given), False
    elif o.sweep < 1:
        sys.exit("error: --sweep wants a number of cases, or a run with --from")
    else:
        run, stopped = measured(o, Run)
    print(report.text(run))
    write(o, run)
    if stopped:
        print("interrupted; --resume goes on from here", file=sys.stderr)
        return 128 + signal.SIGINT
    if o.keep:
        print(f"kept in {keep(o, run)}", file=sys.stderr)
    wrong = [f"{f['key']}: {f['message']}" for f in run["failed"]]
    if o.against:
        recorded = kept.read(o.against)
        wrong += [f"BEHIND: {s}" for s in against.fell(run["records"], recorded["records"])] + against.newly_failed(run, recorded)
    for sentence in wrong:
        print(f"error: {sentence}", file=sys.stderr)
    return 1 if wrong or not run["records"] else 0


def keep(o, run):
    """Records the run, with its picture, and renews docs/performance.md; the file."""
    path = kept.keep(o.keep, run, o.note)
    folder = os.path.splitext(performance.PAGE)[0]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"sweep-{kept.file_name(o.keep)}.svg"), "w") as f:
        f.write(draw(run))
    performance.renew()
    return path


def write(o, run):
    path = o.json or os.path.join(FOLDER, "sweep.json")
    folder = o.pictures or os.path.dirname(os.path.abspath(path))
    picture = os.path.join(folder, os.path.splitext(os.path.basename(path))[0] + ".svg")
    for file in (path, picture):
        os.makedirs(os.path.dirname(os.path.abspath(file)), exist_ok=True)
    for file, text in ((path, json.dumps(run, indent=0) + "\n"), (picture, draw(run))):
        with open(file + ".part", "w") as f:
            f.write(text)
        os.replace(file + ".part", file)
    print(f"\nThe run is in {path}, its picture in {picture}")

"""Searches for pipelines of the kinds of Halide's apps (tests/explore/generators), beside the apps' schedules for processors, which
tests/explore/hand has in our words, and beside Halide's autoschedulers: PYTHONPATH=scripts python3 -m searches.pipelines --help.

What came out is in pipelines.json, of which docs/performance.md has a table."""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("HALYARD_ROOT", os.path.join(ROOT, "build"))
HALYARD = os.path.join(BUILD, "bin", "halyard")
HAND = os.path.join(ROOT, "tests", "explore", "hand")
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pipelines.json")
THEIRS = ["Mullapudi2016", "Li2018", "Adams2019"]
HEAD = ["pipeline", "hand"] + THEIRS + ["found", "of the hand's speed", "of the best of Halide's", "tried", "took"]


def names():
    return sorted(n[:-len(".lua")] for n in os.listdir(HAND) if n.endswith(".lua"))


def options():
    p = argparse.ArgumentParser(prog="python3 -m searches.pipelines", description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", help="pipelines [all]: " + " ".join(names()))
    p.add_argument("--budget", default="5m", help="for a search, with Halide's and the hand schedule, as 90s or 5m [5m]")
    p.add_argument("--threads", type=int, default=os.cpu_count(), help="[all processors]")
    p.add_argument("--records", default=FILE, metavar="FILE", help="[scripts/searches/pipelines.json]")
    p.add_argument("--list", action="store_true", help="print the table of what is recorded, and search nothing")
    return p.parse_args()


def seconds_of(text):
    units = {"s": 1, "m": 60, "h": 3600}
    return float(text[:-1]) * units[text[-1]] if text[-1] in units else float(text)


def search(name, budget, threads):
    generator = os.path.join(BUILD, "tests", "explore", name + ".generator")
    with tempfile.TemporaryDirectory() as work:
        report, found = os.path.join(work, "report.json"), os.path.join(work, name + ".lua")
        begin = time.time()
        r = subprocess.run([HALYARD, "explore", name, "--generator", generator, "--halide", "--beside", os.path.join(HAND, name + ".lua"),
                            "--budget", budget, "--threads", str(threads), "--report", report, "-o", found,
                            "--db", os.path.join(work, "search.db")], capture_output=True, text=True)
        took = time.time() - begin
        if r.returncode:
            raise RuntimeError(r.stderr.strip() or f"halyard explore ended with {r.returncode}")
        with open(report) as f:
            said = json.load(f)
        built = subprocess.run([HALYARD, "build", name, "--generator", generator, "--schedule", found, "--target", "avx512,avx2", "-o",
                                os.path.join(work, "library"), "-q"], capture_output=True, text=True)
        return {"name": name, "machine": said["machine"], "model": said["model"], "compilers": said["compilers"], "threads": threads,
                "budget": seconds_of(budget), "took": took, "tried": said["tried"], "seconds": said["found"]["seconds"],
                "noise": said.get("noise", 0), "busy": said.get("busy", ""), "lua": said["lua"],
                "builds": built.returncode == 0, "message": "" if built.returncode == 0 else built.stderr.strip(),
                "beside": [{k: b[k] for k in ("name", "halide", "ratio", "seconds", "in_turns", "tie", "message") if k in b}
                           for b in said["beside"]]}


def of(record, name):
    """One that it was timed beside: the hand schedule, or one of Halide's."""
    for b in record["beside"]:
        if (b["name"].split()[-1] == name) if b["halide"] else not name:
            return b
    return {}


def ratios(record):
    """The speed of what was found where that of the hand schedule is 1, and where that of the best of Halide's is."""
    theirs = [of(record, n)["ratio"] for n in THEIRS if "ratio" in of(record, n)]
    return of(record, "").get("ratio"), min(theirs) if theirs else None


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


def table(records):
    rows = [HEAD, ["---"] * len(HEAD)]
    for r in sorted(records, key=lambda r: r["name"]):
        hand, halide = ratios(r)
        times = [milliseconds(b["seconds"]) if "seconds" in b else "-" for b in (of(r, n) for n in [""] + THEIRS)]
        rows.append([r["name"]] + times + [milliseconds(r["seconds"])] + [f"{x:.2f}" if x else "-" for x in (hand, halide)] +
                    [str(r["tried"]), f"{r['took']:.0f} s of {r['budget']:.0f}"])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    for i, name in enumerate(("the hand schedules", "the best of Halide's")):
        known = [ratios(r)[i] for r in records if ratios(r)[i]]
        if known:
            mean = math.exp(sum(map(math.log, known)) / len(known))
            lines += ["", f"Speed against {name}: {mean:.2f} in the geometric mean of {len(known)}, {min(known):.2f} at least."]
    return "\n".join(lines)


def read(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return json.load(f)


def section():
    """Of docs/performance.md; "" where nothing is recorded."""
    records = read(FILE)
    if not records:
        return ""
    about = records[0]
    busy = sum(1 for r in records if r["busy"])
    several = sum(1 for r in records if r["builds"])
    missing = sorted(set(names()) - {r["name"] for r in records})
    nothing = f" No schedule was found in time for {', '.join(missing)}." if missing else ""
    return "\n".join([
        "Pipelines of the kinds of Halide's apps, for which `halyard explore` searched with nothing of ours to begin with, beside the apps'",
        "schedules for processors, ported to Lua by hand (`tests/explore/hand`), and Halide's autoschedulers. Made by",
        "`PYTHONPATH=scripts python3 -m searches.pipelines`.", "",
        f"{about['model']}, {about['threads']} threads. The budget has all of it: the hand schedule, half of it for Halide's, the search,",
        "and the turns at the end, in which the best were timed in one process. `-` did not schedule, build or run in its part of the time.",
        f"Other programs used the processors meanwhile in {busy} of {len(records)} searches: fewer candidates are built then, and times",
        "are noisy.",
        f"{several} of {len(records)} build for AVX2 and AVX-512 in one command.{nothing}", "", table(records), ""])


def main():
    o = options()
    records = read(o.records)
    failures = []
    for name in [] if o.list else o.names or names():
        if name not in names():
            sys.exit(f"searches.pipelines: there is no pipeline {name}; there are {', '.join(names())}")
        try:
            record = search(name, o.budget, o.threads)
        except RuntimeError as e:
            failures.append(f"{name}: {e}")
            print(failures[-1], file=sys.stderr, flush=True)
            continue
        records = sorted([r for r in records if r["name"] != name] + [record], key=lambda r: r["name"])
        with open(o.records + ".part", "w") as f:
            json.dump(records, f, indent=1)
            f.write("\n")
        os.replace(o.records + ".part", o.records)
        hand, halide = ratios(record)
        print(name, milliseconds(record["seconds"]), hand, halide, record["tried"], f"{record['took']:.0f} s", record["message"],
              flush=True)
        if not record["builds"]:
            failures.append(f"{name}: what was found does not build for two targets: {record['message']}")
        if record["took"] > 1.1 * record["budget"] + 10:
            failures.append(f"{name}: {record['took']:.0f} s of {record['budget']:.0f}")
    if o.list:
        print(table(records))
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()

"""scripts/explore: every op searched for from nothing, until it is at the level of the schedule that ships."""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time

from . import page

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HALYARD = os.path.join(os.environ.get("HALYARD_ROOT", os.path.join(ROOT, "build")), "bin", "halyard")
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "searches.json")
PAGE = os.path.join(ROOT, "docs", "guide", "explore.md")


def options():
    p = argparse.ArgumentParser(
        prog="scripts/explore", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Searches a schedule of every op from nothing, ends each search as soon as it is at the level of the\n"
                    "schedule that ships, and times both and what Halide's autoschedulers make in turns.",
        epilog="Every result is kept at once; the same command goes on where it was stopped, and skips what is recorded for\n"
               "this machine and these compilers. Exit code 1 if an op misses the ratio, or is not faster than Halide's.\n\n"
               "examples:\n  scripts/explore\n  scripts/explore gemm softmax --budget 2m --again\n  scripts/explore --list")
    p.add_argument("ops", nargs="*", help="ops of the registry, and generators of tests/explore [all]")
    p.add_argument("--until", type=float, default=0.9, help="of the schedule that ships, in speed [0.9]")
    p.add_argument("--budget", default="10m", help="for a search, as 90s or 10m [10m]")
    p.add_argument("--threads", type=int, default=os.cpu_count(), help="[all processors]")
    p.add_argument("--again", action="store_true", help="also what is recorded")
    p.add_argument("--db", metavar="FILE", help="the database of measurements [a fresh one for every search]")
    p.add_argument("--records", default=FILE, metavar="FILE", help="[scripts/searches/searches.json]")
    p.add_argument("--page", default=PAGE, metavar="FILE", help="the page whose table is renewed [docs/guide/explore.md]")
    p.add_argument("--list", action="store_true", help="print what is recorded, and search nothing")
    return p.parse_args()


def generators():
    """Names of the generators of tests/explore/generators, which no registry knows."""
    folder = os.path.join(os.environ.get("HALYARD_ROOT", os.path.join(ROOT, "build")), "tests", "explore")
    return {n[:-len(".generator")]: os.path.join(folder, n) for n in sorted(os.listdir(folder))
            if n.endswith(".generator")} if os.path.isdir(folder) else {}


class Records:
    """{op: record} of a file, for one machine, compilers and number of threads at a time."""

    def __init__(self, path):
        self.path, self.all = path, []
        if os.path.exists(path):
            with open(path) as f:
                self.all = json.load(f)

    def keep(self, record):
        same = ("op", "shape", "threads", "machine", "compilers")
        self.all = [r for r in self.all if any(r[k] != record[k] for k in same)] + [record]
        self.all.sort(key=lambda r: (r["machine"], r["compilers"], r["threads"], bool(r["generator"]), r["op"]))
        with open(self.path + ".part", "w") as f:
            json.dump(self.all, f, indent=1)
            f.write("\n")
        os.replace(self.path + ".part", self.path)

    def of(self, where):
        return {r["op"]: r for r in self.all if all(r[k] == v for k, v in where.items())}


def where(threads):
    """The machine and compilers as the command names them, which key the records."""
    out = subprocess.run([HALYARD, "version", "--json"], check=True, capture_output=True, text=True).stdout
    return {k: v for k, v in json.loads(out).items() if k != "version"} | {"threads": threads}


def search(o, op, generator):
    with tempfile.TemporaryDirectory() as work:
        report = os.path.join(work, "report.json")
        command = [HALYARD, "explore", op, "--budget", o.budget, "--threads", str(o.threads), "--halide",
                   "--report", report, "--db", o.db or os.path.join(work, "search.db"), "-o", os.path.join(work, "best.lua")]
        # Where no schedule ships, twice the speed of the best of Halide's ends it.
        command += ["--generator", generator, "--until", "2"] if generator else ["--until", str(o.until)]
        begin = time.time()
        r = subprocess.run(command, stdout=subprocess.PIPE, stderr=None if sys.stderr.isatty() else subprocess.PIPE,
                           text=True)
        if r.returncode:
            raise RuntimeError((r.stderr or "").strip() or f"halyard explore ended with {r.returncode}")
        with open(report) as f:
            record = json.load(f)
        record["all_seconds"] = time.time() - begin  # with Halide's compiles
        return record


def main():
    for number in (signal.SIGTERM, signal.SIGHUP):  # so that folders of a search go with it
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    o = options()
    records, here = Records(o.records), where(o.threads)
    others = generators()
    known = [e["op"] for e in json.loads(subprocess.run([HALYARD, "list", "--json"], check=True, capture_output=True,
                                                        text=True).stdout)]
    wanted = o.ops or known + list(others)
    for op in wanted:
        if op not in known and op not in others:
            sys.exit(f"scripts/explore: there is no op {op}; there are {', '.join(known + list(others))}")
    failures = []
    for op in [] if o.list else wanted:
        if op in records.of(here) and not o.again:
            continue
        try:
            record = search(o, op, others.get(op))
        except RuntimeError as e:
            failures.append(f"{op}: {e}")
            print(failures[-1], file=sys.stderr)
            continue
        records.keep(record)
        print(page.line(record), flush=True)
        page.renew(o.page, list(records.of(here).values()), others)
    done = records.of(here)
    rows = [done[op] for op in wanted if op in done]
    if o.list:
        print(page.table(rows))
    missing = [op for op in wanted if op not in done]
    failures += [f"{op}: not searched" for op in missing if not any(f.startswith(op + ":") for f in failures)]
    for r in rows:
        ours, halide = page.ratio_to_ours(r), page.ratio_to_halide(r)
        if ours is not None and ours < o.until:
            failures.append(f"{r['op']}: {ours:.2f} of the schedule that ships")
        if halide is not None and halide <= 1:
            failures.append(f"{r['op']}: {halide:.2f} of the best of Halide's autoschedulers")
    gains = [page.ratio_to_halide(r) for r in rows if page.ratio_to_halide(r)]
    if gains:
        print(f"{len(gains)} of them against the best of Halide's autoschedulers: "
              f"{math.exp(sum(map(math.log, gains)) / len(gains)):.2f} times as fast in the geometric mean")
    for f in failures:
        print(f, file=sys.stderr)
    sys.exit(1 if failures else 0)


main()

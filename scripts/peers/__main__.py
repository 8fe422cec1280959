"""scripts/bench: the options, the workers, the table, the recorded ratios."""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys

from . import application, library, performance, ratios, report
from .entry import ENTRIES, FAMILIES, check

FOLDER = os.path.join(library.BUILD, "bench")


def options():
    p = argparse.ArgumentParser(
        prog="scripts/bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Halyard's libraries against torch, torch.compile, onnxruntime, oneDNN and OpenBLAS, interleaved\n"
                    "in one run, beside what the machine can do.",
        epilog="Exit code 1 if an op falls behind the ratio recorded for it on this machine by more than noise, or if\n"
               "a peer computes other numbers than Halyard. A peer that is not installed is a note (scripts/setup\n"
               "--peers). ratio: the best peer's least time over ours, and the quartiles over parts of the run; above\n"
               "1 we are faster.\n\n"
               "examples:\n  scripts/bench --family norms --threads 1\n"
               "  scripts/bench gemm --types f32,bf16 --json gemm.json\n"
               "  scripts/bench softmax --shape rows=100,cols=1000 --no-peers\n  scripts/bench --record\n"
               "  scripts/bench --family GEMM --export FOLDER --target avx512_sapphirerapids, there\n"
               "  cd FOLDER && python3 -m peers --family GEMM --json FILE, and here\n"
               "  scripts/bench --from FILE --record\n"
               "  scripts/bench --sweep 300 --seed 1 --threads 1 --against scripts/peers/sweeps/MACHINE.json\n"
               "  scripts/gpu --sweep 300 FOLDER, there python3 -m peers.gpu.sweep --json FILE, and here\n"
               "  scripts/bench --sweep --from FILE\n"
               "  scripts/bench --models FOLDER --keep \"Zen 5\"\n"
               "  scripts/bench --models FOLDER --export PACK --target avx512_sapphirerapids, there\n"
               "  cd PACK && python3 -m peers --models models --json FILE")
    lists = lambda text: [t for t in text.split(",") if t]
    p.add_argument("ops", nargs="*", help="ops of the registry [all]")
    p.add_argument("--family", action="append", default=[], choices=FAMILIES, help="only these; may be repeated")
    p.add_argument("--label", default="", help="only variants whose label has this text")
    p.add_argument("--threads", type=lists, default=["1", "2"], help="counts, as 1,2 [1,2]")
    p.add_argument("--types", type=lists, default=[], help="f32,f16,bf16,int8 [all]")
    p.add_argument("--shape", action="append", default=[], help="only this size, as rows=64,cols=4096; may be repeated")
    p.add_argument("--schedule", action="append", default=[], help="this one instead of the entry's; may be repeated")
    p.add_argument("--seconds", type=float, default=0.5, help="for each contestant and row, about [0.5]")
    p.add_argument("--peers", type=lists, default=[], help="torch,torch.compile,onnxruntime,oneDNN,OpenBLAS [all]")
    p.add_argument("--no-peers", action="store_true", help="ours alone, against the roof; needs nothing but Python")
    p.add_argument("--resume", action="store_true", help="keep the rows of an interrupted run")
    p.add_argument("--record", action="store_true", help="write the ratios to --ratios instead of comparing with it")
    p.add_argument("--ratios", default=ratios.FILE, metavar="FILE",
                   help="the recorded ratios [scripts/peers/ratios.json]")
    p.add_argument("--json", metavar="FILE", help="where the rows go [build/bench/table.json]")
    p.add_argument("--keep", metavar="LABEL", help="keep the rows as a run of this machine, named LABEL, under scripts/peers/runs, "
                                                   "and renew docs/performance.md and its pictures")
    p.add_argument("--note", default="", help="a sentence for the run, as on what else ran on the machine")
    p.add_argument("--from", dest="given", metavar="FILE", action="append", default=[],
                   help="records of --json instead of a run, for --keep, the pictures and the ratios; may be "
                        "repeated")
    p.add_argument("--pictures", metavar="DIR", help="where a picture a family goes, SVG and PNG [build/bench/pictures]")
    p.add_argument("--lock", metavar="FILE", help="held while a row is timed, for machines that are shared")
    p.add_argument("--list", action="store_true", help="the rows, and whether every op of the registry has one")
    p.add_argument("--export", metavar="FOLDER", help="the rows' kernels and what times them, for another machine: "
                                                       "`python3 -m peers` in the folder there, with these options")
    p.add_argument("--target", help="of --export: a level as avx512_sapphirerapids, or several with commas")
    p.add_argument("--sweep", type=int, nargs="?", const=0, metavar="N", help="N cases of the population that models run "
                                                                             "(scripts/peers/population), instead of the table; with --from, a report")
    p.add_argument("--seed", type=int, default=1, help="of --sweep: which cases [1]")
    p.add_argument("--first", type=int, default=0, help="of --sweep: the number of the first case [0]")
    p.add_argument("--models", metavar="FOLDER", help="whole models, by `halyard compile`, instead of ops: FOLDER has the files of peers/models/cases.json")
    p.add_argument("--row-seconds", type=float, default=900, help="of --models: a row that takes longer is given up [900]")
    p.add_argument("--against", metavar="FILE", help="of --sweep: a recorded run; fails where the geometric mean or the 10th percentile fell")
    p.add_argument("--verbose", action="store_true", help="also what the peers print")
    return p.parse_args()


class Run:
    def __init__(self, o):
        self.o, self.records, self.failures, self.notes = o, [], [], []
        self.done = {}  # (threads, number) -> records
        self.machine = None
        self.fatal = None
        # What a run has measured so far, under what it was asked.
        name = hashlib.sha256(json.dumps(self.question()).encode()).hexdigest()[:12]
        self.file = os.path.join(FOLDER, f"rows-{name}.jsonl")

    def task(self, threads):
        o = self.o
        return {"threads": threads, "ops": o.ops, "families": o.family, "label": o.label, "types": o.types,
                "shape": o.shape, "schedule": o.schedule, "seconds": o.seconds, "peers": o.peers,
                "lock": o.lock, "verbose": o.verbose,
                "done": [n for t, n in self.done if t == threads]}

    def question(self):
        """By which an interrupted run is recognised."""
        o = self.o
        return {"ops": o.ops, "families": o.family, "label": o.label, "types": o.types, "shape": o.shape,
                "schedule": o.schedule, "threads": o.threads, "peers": o.peers, "no_peers": o.no_peers,
                **({"models": os.path.abspath(o.models)} if o.models else {})}

    def resume(self):
        """Takes what an earlier run with the same options measured."""
        os.makedirs(FOLDER, exist_ok=True)
        if self.o.resume and os.path.exists(self.file):
            with open(self.file) as f:
                for line in f:
                    if line.endswith("\n"):  # the last one may have been cut off
                        rows = json.loads(line)
                        self.done[rows["threads"], rows["number"]] = rows["records"]
                        self.records += rows["records"]
        else:
            open(self.file, "w").close()

    def keep(self, threads, number, records):
        self.done[threads, number] = records
        self.records += records
        with open(self.file, "a") as f:
            f.write(json.dumps({"threads": threads, "number": number, "records": records}) + "\n")

    def note(self, text):
        print(text, file=sys.stderr, flush=True)

    def worker(self, threads):
        """One worker from start to end; True if it ended before its rows did."""
        env = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads),
                   # Large buffers are kept rather than returned to the system and faulted in at every call.
                   MALLOC_MMAP_MAX_="0", MALLOC_TRIM_THRESHOLD_="17179869184", MALLOC_TOP_PAD_="67108864",
                   TORCHINDUCTOR_COMPILE_THREADS="1",
                   TORCHINDUCTOR_CACHE_DIR=os.path.join(library.BUILD, "bench", "inductor"))
        if threads == 1:
            env["OMP_WAIT_POLICY"] = "passive"
        if self.o.no_peers:
            env["HALYARD_NO_PEERS"] = "1"
        process = subprocess.Popen([sys.executable, "-m", "peers.worker"], env=env, text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        number, records, row = None, [], ""
        try:
            process.stdin.write(json.dumps(self.task(threads)))
            process.stdin.close()
            for line in process.stdout:
                answer = json.loads(line)
                if "machine" in answer:
                    self.machine = answer
                elif "fatal" in answer:
                    self.fatal = answer["fatal"]
                elif "begin" in answer:
                    number, records, row = answer["begin"], [], answer["row"]
                elif "record" in answer:
                    records.append(self.again(answer["record"]))
                    self.print(records[-1])
                elif "failed" in answer:
                    self.failures.append(f"{row}: {answer['message']}")
                    self.note(f"FAILED: {self.failures[-1]}")
                elif "end" in answer:
                    self.keep(threads, number, records)
                    number = None
            process.wait()
        finally:
            if process.poll() is None:
                process.kill()
        if process.returncode and number is not None:
            self.failures.append(f"{row}: the process ended with code {process.returncode}")
            self.note(f"FAILED: {self.failures[-1]}")
            self.keep(threads, number, records)
            return True
        if process.returncode and not self.fatal:
            self.fatal = f"the worker ended with code {process.returncode}; --verbose shows what it said"
        return False

    def again(self, record):
        return record

    def print(self, r):
        self.note("  ".join(report.cells(r)))
        for text in r["notes"]:
            if text.startswith("WRONG") or self.o.verbose:
                self.note(f"    {text}")

    def run(self):
        self.resume()
        for threads in map(int, self.o.threads):
            while self.worker(threads):
                pass
            if self.fatal:
                sys.exit(f"error: {self.fatal}")


def confirm(o, row):
    """Measures one row again, longer and with new buffers: its record."""
    again = argparse.Namespace(**vars(o))
    again.ops, again.shape, again.types = [row["op"]], [row["shape"]], [row["type"]]
    again.threads = [str(row["threads"])]
    again.seconds, again.resume, again.label = 2 * o.seconds, False, row["label"]
    run = Run(again)
    run.keep = lambda threads, number, records: (run.done.update({(threads, number): records}),
                                                 run.records.extend(records))
    while run.worker(row["threads"]):
        pass
    return next((r for r in run.records if r["key"] == row["key"]), row)


def fallen_behind(o, records):
    """A sentence for each row that is behind its recorded ratio, also when measured twice more."""
    all_ = ratios.read(o.ratios)
    sentences = []
    for r in records:
        recorded = all_.get(r["machine"], {})
        for _ in range(0 if o.given else 2):
            if ratios.behind(recorded, r):
                r = confirm(o, r)
        sentence = ratios.behind(recorded, r)
        if sentence:
            sentences.append(sentence)
    return sentences


def main():
    o = options()
    if o.no_peers:
        os.environ["HALYARD_NO_PEERS"] = "1"
    os.environ["HALYARD_NO_PEERS"] = os.environ.get("HALYARD_NO_PEERS", "")
    names = {op["op"] for op in library.registry()} | {application.OP}
    unknown = [n for n in o.ops if n not in names and not o.models]
    if unknown:
        sys.exit(f"error: no such op: {', '.join(unknown)}; the registry has {', '.join(sorted(names))}")
    if o.list:
        return listing()
    if o.export:
        return export(o)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the worker ends too
    if o.sweep is not None:
        from .sweep import command
        return command.main(o, Run)
    run = Run(o)
    if o.models:
        from .models import command
        if command.main(o, run):
            return finish(o, run)
        print(report.table(run.records))
        return 128 + signal.SIGINT
    if o.given:
        rows = {}
        for path in o.given:
            with open(path) as f:
                rows.update((r["key"], r) for r in json.load(f))
        run.records = list(rows.values())
        return finish(o, run)
    try:
        run.run()
    except KeyboardInterrupt:
        run.note("interrupted; --resume goes on from here")
        print(report.table(run.records))
        return 128 + signal.SIGINT
    if not run.records and not run.failures:
        sys.exit("error: no row of the table fits these options; scripts/bench --list shows them")
    try:
        return finish(o, run)
    except KeyboardInterrupt:
        run.note("interrupted while rows that seem to be behind were measured again; what was asked for is written")
        return 128 + signal.SIGINT


def export(o):
    from . import export as to, ops  # noqa: F401
    if not o.target:
        sys.exit("error: --export wants the other machine's --target, as avx512_sapphirerapids")
    if o.models:
        from .models import export as models
        failed = models.export(o.export, o.target, o.models, o.ops)
    else:
        failed = to.export(o.export, o.target, Run(o).task(1))
    for sentence in failed:
        print(f"error: {sentence}", file=sys.stderr)
    return 1 if failed else 0


def listing():
    from . import ops  # noqa: F401
    from .entry import rows
    for e, shape, kind in rows(ENTRIES, known={o["op"] for o in library.registry()}):
        print(f"{e.family:<20}{e.name:<32}{shape:<60}{kind}")
    wrong = check(library.registry())
    for sentence in wrong:
        print(f"error: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


def finish(o, run):
    records = run.records
    print(report.table(records))
    peers = report.behind(records)
    if peers:
        print("\nA peer is faster in:")
        for r in peers:
            print(f"  {r['key']}: {r['ratio']:.2f} of {r['peer']}, {100 * r['roof_fraction']:.0f}% of the roof")
    notes = sorted({n for r in records for n in r["notes"] if not n.startswith("WRONG")})
    if notes:
        print("\nNotes:\n" + "\n".join(f"  {n}" for n in notes))
    keep_rows(o, records)
    if o.keep:
        run.note(f"kept in {keep_run(o.keep, records, o.note)}")
    bad = [f"{r['key']}: {n}" for r in records for n in r["notes"] if n.startswith("WRONG")]
    bad += [f"{f}" for f in run.failures]
    if o.record:
        ratios.store(o.ratios, records)
        run.note(f"recorded {len(records)} rows in {o.ratios}")
    else:
        bad += [f"BEHIND: {s}" for s in fallen_behind(o, records)]
    for sentence in bad:
        print(f"error: {sentence}", file=sys.stderr)
    return 1 if bad else 0


def keep_rows(o, records):
    """The records as JSON and a picture a family, where the options say or in the build tree."""
    rows, folder = o.json or os.path.join(FOLDER, "table.json"), o.pictures or os.path.join(FOLDER, "pictures")
    os.makedirs(FOLDER, exist_ok=True)  # --from measures nothing
    with open(rows + ".part", "w") as f:
        json.dump(records, f, indent=1)
        f.write("\n")
    os.replace(rows + ".part", rows)
    drawn = draw(folder, records, asked=bool(o.pictures))
    print(f"\nThe rows are in {rows}" + (f", a picture of each family in {folder}" if drawn else ""))


def draw(folder, records, ends=("svg", "png"), asked=True):
    """{family: file}; nothing without matplotlib."""
    try:
        from . import pictures
        return pictures.draw(records, folder, ends)
    except ImportError:
        if asked:
            print("note: no pictures, matplotlib is not installed: scripts/setup --peers", file=sys.stderr)
        return {}


def versions():
    from importlib import metadata
    found = []
    for package in ("torch", "onnxruntime", "openvino", "onednn-cpu-gomp", "numpy"):
        try:
            found.append(f"{package} {metadata.version(package)}" + (" (OpenBLAS)" if package == "numpy" else ""))
        except metadata.PackageNotFoundError:
            found.append(f"no {package}")
    return ", ".join(found)


def keep_run(label, records, note):
    """Writes a run, draws its families and renews the page; the file's name."""
    path = performance.keep(label, records, versions(), note)
    draw(os.path.splitext(performance.PAGE)[0], records, ("svg",))
    performance.renew()
    return path


if __name__ == "__main__":
    sys.exit(main())

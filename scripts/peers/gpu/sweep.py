"""Times the cases of a pack's population (scripts/gpu --sweep) beside their peers, on a machine with a GPU and torch.

    python3 -m peers.gpu.sweep --json FILE [--budget SECONDS] [--first N] [--count N]      in the folder of the pack

FILE is rewritten after each case, and a later run with the same FILE goes on where it ends: --again measures anew. Inputs
rotate among sets that are together several times the L2; contestants take turns, each in a CUDA graph.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STUCK = 120    # seconds after which a case that does not end is given up
AHEAD = 0.35   # of the budget, at most, to compile ahead


def options():
    p = argparse.ArgumentParser(prog="python3 -m peers.gpu.sweep", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--json", default="sweep-result.json", metavar="FILE")
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--count", type=int, default=1 << 30)
    p.add_argument("--budget", type=float, default=500, help="seconds in all; what is not timed by then is left out [500]")
    p.add_argument("--ops", type=lambda t: t.split(","), default=[], help="only these, with commas")
    p.add_argument("--milliseconds", type=float, default=25, help="for each contestant, about [25]")
    p.add_argument("--processes", type=int, default=min(12, max(1, (os.cpu_count() or 2) - 2)), help="that compile ahead; 0 for none [12]")
    p.add_argument("--no-compile", action="store_true", help="without torch.compile")
    p.add_argument("--again", action="store_true")
    p.add_argument("--cache", default=os.path.join(tempfile.gettempdir(), "halyard-sweep"), help="where torch.compile keeps its kernels")
    for hidden in ("--worker", "--compile-part", "--until"):
        p.add_argument(hidden, help=argparse.SUPPRESS)
    return p.parse_args()


def chosen(o):
    """(case, library) of the pack; those whose library was not built have none."""
    from ..population.case import read
    with open(os.path.join(FOLDER, "sweep.json")) as f:
        pack = json.load(f)
    cases = [({n: x for n, x in c.items() if n != "library"}, c["library"]) for c in pack["cases"]]
    return pack, [(read(c), library) for c, library in cases
                  if o.first <= c["index"] < o.first + o.count and (not o.ops or c["op"] in o.ops)]


class Results:
    """The file of a run. All that is known is in it after each case."""

    def __init__(self, path, again=False):
        self.path, self.content = path, {"target": "cuda", "records": [], "failed": []}
        if os.path.exists(path) and not again:
            with open(path) as f:
                self.content = json.load(f)

    def update(self, **fields):
        self.content.update(fields)
        self.write()

    def add(self, kind, what):
        self.content[kind].append(what)
        self.write()

    def write(self):
        with open(self.path + ".part", "w") as f:
            json.dump(self.content, f, indent=0)
        os.replace(self.path + ".part", self.path)

    def done(self):
        return {r["case"]["index"] for r in self.content["records"]} | {f["index"] for f in self.content["failed"]}


def passed_on(o):
    words = ["--json", o.json, "--first", str(o.first), "--count", str(o.count), "--milliseconds", str(o.milliseconds), "--cache", o.cache]
    return words + (["--ops", ",".join(o.ops)] if o.ops else []) + (["--no-compile"] if o.no_compile else [])


def supervise(o):
    """Starts the process that times, and a new one where a case took it down: that case has failed."""
    from .sweep_compile import environment, in_processes
    began = time.time()
    pack, cases = chosen(o)
    results = Results(o.json, o.again)
    results.update(seed=pack["seed"], commit=pack["commit"], count=len(pack["cases"]), devices=pack["devices"])
    for case, library in cases:
        if library in pack["failed"] and case.index not in results.done():
            results.add("failed", {"index": case.index, "key": case.key, "message": "no library: " + pack["failed"][library]})
    os.makedirs(o.cache, exist_ok=True)
    env = environment(o.cache, FOLDER)
    if o.processes and not o.no_compile and any(case.index not in results.done() for case, _ in cases):
        in_processes(passed_on(o), AHEAD * o.budget, env, o.processes)
        print(f"compiled ahead for {time.time() - began:.0f} s", flush=True)
    until = began + o.budget
    while True:
        before = Results(o.json).done()
        left = [case for case, _ in cases if case.index not in before]
        if not left or time.time() > until - 3:
            break
        process = subprocess.Popen([sys.executable, "-m", "peers.gpu.sweep", *passed_on(o), "--worker", "1", "--until", str(until)], env=env,
                                   stdout=subprocess.PIPE, text=True)
        at = watch(process, until)
        results = Results(o.json)
        ended = results.done() - before
        if process.returncode and at is not None and at["index"] not in results.done():
            results.add("failed", {**at, "message": f"the process ended with code {process.returncode}"})
        elif process.returncode and not ended:
            sys.exit(f"error: the process that times ended with code {process.returncode} before its first case")
    content = Results(o.json).content
    print(f"{len(content['records'])} cases timed, {len(content['failed'])} failed, {len(cases) - len(Results(o.json).done())} left, "
          f"{time.time() - began:.0f} s", flush=True)


def watch(process, until):
    """Passes on what a worker prints; what it was at when it ended, if at anything."""
    import threading
    at, last = None, [time.time()]

    def kill():
        while process.poll() is None:
            if time.time() - last[0] > STUCK or time.time() > until + 20:
                process.kill()
            time.sleep(0.5)
    threading.Thread(target=kill, daemon=True).start()
    for line in process.stdout:
        last[0] = time.time()
        if line.startswith("BEGIN "):
            at = json.loads(line[6:])
        else:
            print(line, end="", flush=True)
            at = None if line.startswith(("[", "FAILED")) else at
    process.wait()
    return at


def main():
    o = options()
    o.json = os.path.abspath(o.json)
    if o.compile_part:
        from .sweep_compile import ahead
        part, parts = map(int, o.compile_part.split("/"))
        return ahead([case for case, _ in chosen(o)[1]], float(o.until), part, parts)
    if o.worker:
        from .sweep_time import work
        return work(o, FOLDER, chosen(o)[1], Results(o.json), float(o.until))
    return supervise(o)


if __name__ == "__main__":
    sys.exit(main())

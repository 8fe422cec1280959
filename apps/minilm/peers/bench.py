"""Times the sentence encoder of Halyard against torch, torch.compile, onnxruntime and OpenVINO.

    python bench.py --model DIR --threads 1 --cases 1x16,32x128,32xnatural \
        --peers torch,compile,onnxruntime,openvino --halyard "minilm --serve-bench" --json OUT

A case "BxS" is a batch of B rows of exactly S tokens, all of them attended; "Bxnatural" is the
first B lines of ../data/sentences.txt, padded to the longest, with the attention mask. Token ids
go in, normalised embeddings come out: tokenization is not timed.
Token i of a BxS batch (i counts through the whole batch, row by row) is 1000 + i * 7919 % 20000,
except that each row begins with 101 and ends with 102.

Every contestant is a process of its own, so that no thread pool meets another, and only one of
them has work at a time. They take turns, in an order that rotates every round, so that a slow
spell of the machine falls on all of them. A contestant reads lines from stdin and answers each
with one line on stdout:

    run CASE SECONDS  ->  {"case": .., "seconds_min": .., "seconds_median": .., "runs": N}

Whatever it prepares for a case (compiling, packing, warming up) it does at the case's first
request, untimed. "sample" (optional) holds the first values of the last row's embedding; samples
that differ are an error. "variant" (optional) says which of several forms it found the fastest.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import encoders

PEERS = tuple(encoders.PEERS)


# ---- a worker -----------------------------------------------------------------------------

def time_runs(run, seconds):
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def serve(args):
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peer = encoders.PEERS[args.worker](args)
    ready = {}
    for line in sys.stdin:
        words = line.split()
        if words[0] == "about":
            answer = {"about": peer.about()}
        else:
            case, seconds = words[1], float(words[2])
            if case not in ready:
                variants = peer.prepare(case)
                trial = {name: min(time_runs(run, 0.3)) for name, run in variants.items()}
                best = min(trial, key=trial.get)
                print(args.worker, case, {k: f"{1e3 * v:.2f} ms" for k, v in trial.items()}, file=sys.stderr)
                ready.clear()  # one case at a time: each may hold packed weights of its own
                ready[case] = best, variants[best]
            best, run = ready[case]
            run()  # the caches hold another contestant's data
            times = time_runs(run, seconds)
            answer = {"case": case, "seconds_min": min(times), "seconds_median": statistics.median(times),
                      "runs": len(times), "variant": best, "sample": [float(v) for v in run()[-1][:8]]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


# ---- the contest --------------------------------------------------------------------------

class Ended(Exception):
    pass


class Contestant:
    def __init__(self, name, command, threads):
        self.name = name
        env = dict(os.environ)
        env.update({
            "OMP_NUM_THREADS": str(threads),
            "MKL_NUM_THREADS": str(threads),
            # Large buffers are kept rather than returned to the system and faulted in every call.
            "MALLOC_MMAP_MAX_": "0",
            "MALLOC_TRIM_THRESHOLD_": "17179869184",
            # torch.compile: no pool of compiler processes left behind
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        })
        # Not OMP_WAIT_POLICY=passive: it makes torch slower on two threads. What is left
        # spins for some milliseconds after a run and then sleeps, hence the pause in ask().
        env.pop("OMP_WAIT_POLICY", None)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise Ended(f"{self.name} ended without an answer to '{line}'")
        time.sleep(0.05)  # the next contestant finds this one's threads asleep
        return json.loads(answer)

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def note(text):
    print(text, file=sys.stderr, flush=True)


def print_table(table, own, peers, where, kind):
    """Rows of cases, columns of contestants: the least time of each in ms, and how ours compares."""
    ratios = (["unfused/fused"] if len(own) == 2 else []) + (["best peer/fused"] if own and peers else [])
    columns = own + peers + ratios
    print(f"sentence encoder, {kind}, {where}, least ms of each (batch x tokens)")
    print(f"{'':<12}" + "".join(f"{c:>17}" for c in columns))
    for case, least in table:
        row = [f"{1e3 * least[c]:.2f}" for c in own + peers]
        if len(own) == 2:
            row.append(f"{least[own[1]] / least[own[0]]:.2f}")
        if own and peers:
            row.append(f"{min(least[p] for p in peers) / least[own[0]]:.2f}")
        print(f"{case:<12}" + "".join(f"{c:>17}" for c in row), flush=True)
    if "32xnatural" in dict(table):
        print("32xnatural: 32 sentences of different length; the peers pad them to the longest, minilm "
              + ("too." if where == "on the GPU" else "packs them."))


def contest(args):
    cases = args.cases.split(",")
    peers = [p for p in args.peers.split(",") if p and (p != "onnxruntime" or args.type == "f32")]
    if args.device != "cpu":
        peers = [p for p in peers if p in ("torch", "compile")]
    unknown = set(peers) - set(PEERS)
    if unknown:
        sys.exit(f"no such peer: {', '.join(unknown)}")
    with tempfile.TemporaryDirectory() as folder:
        if not args.onnx:
            args.onnx = folder
        common = [sys.executable, os.path.abspath(__file__), "--model", args.model, "--threads", str(args.threads),
                  "--onnx", args.onnx, "--type", args.type, "--device", args.device]
        if {"onnxruntime", "openvino"} & set(peers):
            missing = [c for c in cases if not os.path.exists(os.path.join(args.onnx, f"{c}-fused.onnx"))]
            if missing:
                subprocess.run(common + ["--export", "--cases", ",".join(missing)], check=True)
        contestants = []
        for name in list(peers):
            p = Contestant(name, common + ["--worker", name], args.threads)
            try:
                note(p.ask("about")["about"])
                p.ask(f"run {cases[0]} 0")
                contestants.append(p)
            except Ended as e:  # as torch.compile where there is no compiler for its kernels
                peers.remove(name)
                print(f"left out: {e}")
        own = []
        for schedule, command in (("fused", args.halyard), ("unfused", args.halyard_unfused)):
            if command:
                name = "halyard" if schedule == "fused" else "halyard-unfused"
                own.append((name, schedule))
                contestants.append(Contestant(name, shlex.split(command), args.threads))

        records = []
        wrong = False
        table = []
        for case in cases:
            answers = {c.name: [] for c in contestants}
            for r in range(args.rounds):
                turn = r % len(contestants)
                if r == 0:
                    for c in contestants:  # all prepare, so that no compilation falls between timings
                        c.ask(f"run {case} 0")
                for c in contestants[turn:] + contestants[:turn]:
                    answers[c.name].append(c.ask(f"run {case} {args.seconds / args.rounds}"))
            least = {n: min(a["seconds_min"] for a in all_) for n, all_ in answers.items()}
            median = {n: statistics.median(a["seconds_median"] for a in all_) for n, all_ in answers.items()}
            for n, all_ in answers.items():
                note(f"{case:<12}{n:<18}min {1e3 * least[n]:.3f} ms, median {1e3 * median[n]:.3f} ms, "
                     f"{sum(a['runs'] for a in all_)} runs {all_[0].get('variant', '')}")
            table.append((case, least))
            samples = {n: all_[-1]["sample"] for n, all_ in answers.items() if "sample" in all_[-1]}
            for n, s in samples.items():
                off = max(abs(a - b) for a, b in zip(s, next(iter(samples.values()))))
                if not off < (1e-4 if args.type == "f32" else 1e-2):
                    wrong = True
                    note(f"WRONG: {n} differs from {next(iter(samples))} by {off:g} in {case}")
            # Without our own program: the peers alone, and no ratio. A ratio above 1: we are faster.
            for name, schedule in own or [(None, None)]:
                for p in peers:
                    records.append({
                        "op": "minilm", "shape": case, "type": args.type,
                        "target": "host" if args.device == "cpu" else args.device, "schedule": schedule,
                        "threads": args.threads, "seconds": least.get(name), "seconds_median": median.get(name),
                        "peer": p, "peer_variant": answers[p][0].get("variant"),
                        "peer_seconds": least[p], "peer_seconds_median": median[p],
                        "rounds": [a["seconds_min"] for a in answers[name]] if name else None,
                        "peer_rounds": [a["seconds_min"] for a in answers[p]],
                        "ratio": least[p] / least[name] if name else None})
        for c in contestants:
            c.stop()
    where = "on the GPU" if args.device != "cpu" else "1 thread" if args.threads == 1 else f"{args.threads} threads"
    print_table(table, [name for name, _ in own], peers, where, args.type)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(records, f, indent=1)
            f.write("\n")
    return 1 if wrong else 0


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--model", required=True, help="a folder that holds model.safetensors, at any depth")
    args.add_argument("--threads", type=int, default=1)
    args.add_argument("--type", choices=("f32", "bf16"), default="f32",
                      help="of weights and activations; onnxruntime has f32 only")
    args.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where the peers compute")
    args.add_argument("--cases", default="1x16,1x64,1x256,32x64,32x128,32xnatural")
    args.add_argument("--peers", default=",".join(PEERS))
    args.add_argument("--halyard", help="our program's command, which answers the same lines")
    args.add_argument("--halyard-unfused", help="the same with the other schedules")
    args.add_argument("--seconds", type=float, default=2, help="for each case and contestant, over all rounds")
    args.add_argument("--rounds", type=int, default=4)
    args.add_argument("--json", help="where the records go")
    args.add_argument("--onnx", help="a folder to keep the exported models in (default: a temporary one)")
    args.add_argument("--worker", choices=PEERS, help=argparse.SUPPRESS)
    args.add_argument("--export", action="store_true", help=argparse.SUPPRESS)
    args = args.parse_args()
    if args.worker:
        serve(args)
    elif args.export:
        encoders.export(args)
    else:
        try:
            sys.exit(contest(args))
        except Ended as e:
            sys.exit(str(e))


if __name__ == "__main__":
    main()

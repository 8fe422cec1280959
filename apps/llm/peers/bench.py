"""Times the language model program of Halyard beside llama.cpp, on one file.

    apps/llm/peers/build_llama
    python3 apps/llm/peers/bench.py [--model FILE] [--threads 1,2] [--depths 0,4096] [--rounds 3] [--perplexity FILE] [--json OUT]
                                    [--clock processor] [--record LABEL --name MODEL]

Tests are those of llama-bench: a prompt of 512 tokens (pp512), 128 generated ones (tg128), behind so many tokens as --depths says. The
programs take turns, in an order that rotates every round, so that a slow spell of the machine falls on both; what is printed is the best
time of each, and the middle one in brackets. llama.cpp has flash attention on, and repacks what it can; keys and values are f16 in it, and
beside rows in 8 bits. --perplexity compares how well each predicts a text, in chunks of 512 tokens.

With --clock processor a time is that of the processor, for a machine with other programs on it: what --repetitions more of a test take the
whole program. It says something for one thread: where several wait for each other, waiting counts, too.

With --record the best rates are kept for docs/performance.md, as a run of this label.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import resource
import subprocess
import sys

import record

ROOT = pathlib.Path(__file__).resolve().parents[3]
KINDS = ("llama.cpp", "8-bit rows", "f32 rows")


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, check=False, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {command[0]} failed:\n{done.stderr[-2000:]}")
    return done.stdout, done.stderr


TOKENS = {"pp": 512, "tg": 128}


def command_of(kind, args, threads, depth, tokens, repetitions):
    """Runs tests of so many tokens, 0: not."""
    if kind == "llama.cpp":
        return [args.llama / "llama-bench", "-m", args.model, "-p", tokens["pp"], "-n", tokens["tg"], "-d", depth, "-t", threads, "-fa", 1,
                "-r", repetitions, "-o", "json"]
    return [args.halyard, "--model", args.model, "--bench", "--prompt-tokens", tokens["pp"], "--generated-tokens", tokens["tg"],
            "--repetitions", repetitions, "--threads", threads, *(["--int8"] if kind == "8-bit rows" else []),
            *(["--depth", depth] if depth else [])]


def by_the_clock(kind, args, threads, depth):
    """{"pp": [tokens a second of repetitions], "tg": ..}"""
    out, _ = run(command_of(kind, args, threads, depth, TOKENS, args.repetitions))
    if kind == "llama.cpp":
        return {"pp" if test["n_prompt"] else "tg": test["samples_ts"] for test in json.loads(out)}
    found = re.findall(r"\| (pp|tg)\d+(?: @ d\d+)? *\| *([0-9.]+) *\| *([0-9.]+) *\| *([0-9.]+)", out)
    return {test: [float(rate) for rate in rates] for test, *rates in found}


def by_the_processor(kind, args, threads, depth):
    """The same with one rate each."""
    def seconds(tokens, repetitions):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(command_of(kind, args, threads, depth, tokens, repetitions))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    rates = {}
    for test, count in TOKENS.items():
        tokens = {name: count if name == test else 0 for name in TOKENS}
        more = seconds(tokens, 1 + args.repetitions) - seconds(tokens, 1)
        rates[test] = [args.repetitions * count / max(more, 1e-9)]
    return rates


def rates_of(kind, args, threads, depth):
    return (by_the_processor if args.clock == "processor" else by_the_clock)(kind, args, threads, depth)


def contest(args):
    """[(threads, depth, test, {kind: [rates]})]"""
    rows = []
    for depth in args.depths:
        for threads in args.threads:
            rates = {test: {kind: [] for kind in KINDS} for test in ("pp", "tg")}
            for turn in range(args.rounds):
                for i in range(len(KINDS)):
                    kind = KINDS[(i + turn) % len(KINDS)]
                    for test, found in rates_of(kind, args, threads, depth).items():
                        rates[test][kind] += found
            for test, found in rates.items():
                rows.append((threads, depth, f"{test}{TOKENS[test]}", found))
                print_row(*rows[-1])
    return rows


def print_row(threads, depth, test, rates):
    best = {kind: max(found) for kind, found in rates.items()}
    cells = [f"{best[kind]:.0f} ({statistics.median(rates[kind]):.0f})" for kind in KINDS]
    ratios = [f"{best[kind] / best['llama.cpp']:.2f}" for kind in KINDS[1:]]
    print(f"| {threads} | {depth} | {test} | {cells[0]} | {cells[1]} | {ratios[0]} | {cells[2]} | {ratios[1]} |", flush=True)


def compare_perplexity(args):
    _, said = run([args.llama / "llama-perplexity", "-m", args.model, "-f", args.perplexity, "-c", 512, "-t", max(args.threads), "-fa", "on"])
    llama = float(re.search(r"Final estimate: PPL = ([0-9.]+)", said).group(1))
    print(f"\nperplexity of {args.perplexity.name}: llama.cpp {llama:.4f}", end="")
    result = {"llama.cpp": llama}
    for kind, options in zip(KINDS[1:], (["--int8"], [])):
        out, _ = run([args.halyard, "--model", args.model, "--perplexity", args.perplexity, "--threads", max(args.threads), *options])
        result[kind] = float(re.search(r"perplexity ([0-9.]+)", out).group(1))
        print(f", {kind} {result[kind]:.4f} ({100 * (result[kind] / llama - 1):+.2f} %)", end="")
    print()
    return result


def main():
    numbers = lambda text: [int(n) for n in text.split(",")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / ".halyard/smollm2.gguf")
    parser.add_argument("--halyard", type=pathlib.Path, default=ROOT / "build/apps/llm/llm", help="the program of this repository")
    parser.add_argument("--llama", type=pathlib.Path, default=ROOT / ".halyard/llama/build/bin", help="the folder of llama.cpp's programs")
    parser.add_argument("--threads", type=numbers, default=[1, os.cpu_count()])
    parser.add_argument("--depths", type=numbers, default=[0, 4096])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=3, help="of each program in a round")
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    parser.add_argument("--perplexity", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--record", metavar="LABEL", help="of the machine")
    parser.add_argument("--name", help="of the model, in that record")
    args = parser.parse_args()
    if not (args.llama / "llama-bench").exists():
        sys.exit(f"error: {args.llama} has no llama-bench: apps/llm/peers/build_llama builds it")
    print("| threads | depth | test | llama.cpp | 8-bit rows | of it | f32 rows | of it |\n"
          "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    rows = contest(args)
    perplexity = compare_perplexity(args) if args.perplexity else None
    if args.json:
        args.json.write_text(json.dumps({"rows": rows, "perplexity": perplexity}, indent=1))
    if args.record:
        model = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE).group(1)
        of_peers = [record.row(args.name or args.model.stem, record.test_name(test[:2], test[2:], depth), kind, threads, max(rates[kind]),
                               {"llama.cpp": max(rates["llama.cpp"])})
                    for threads, depth, test, rates in rows for kind in KINDS[1:]]
        print(record.write(args.record, model, "llama.cpp of llama-cpp-python (apps/llm/peers/llama.txt)", "apps/llm/peers/bench.py",
                           f"Times are of the {'processor' if args.clock == 'processor' else 'clock'}.", of_peers))


if __name__ == "__main__":
    main()

"""The process of a sweep that times: one case after the other, each checked first."""

import json
import lzma
import math
import os
import tempfile
import time

import torch

from ..population.case import SHORT
from ..population.chosen import said_by
from ..population.cost import bytes_, flops
from .library import Library
from .run import copy_bandwidth, sets_for, times_of
from .sweep_compile import functions, setup
from .sweep_inputs import compared, given, inputs, meaning, outputs, reference

EPSILON = {"float32": 2.0 ** -19, "float16": 2.0 ** -10, "bfloat16": 2.0 ** -7}
DISTANCE = {"float32": 1e-4, "float16": 4e-3, "bfloat16": 2e-2}   # of all results together, relative
LARGEST = 12                                                      # epsilons of the largest result, for one of them
LOOSER = {"swiglu": 2, "swiglu_mlp": 3, "rms_norm_gemm": 2, "swiglu_int8": 2, "swiglu_mlp_int8": 4, "attention": 2, "decode_attention": 2}
COPIES = [1 << n for n in range(21, 33, 2)] + [1 << 32]  # bytes moved; a shorter copy takes as long as the first
CUBE = 8192


class Machine:
    """What the GPU can do at best, as measured."""

    def __init__(self, kept=None):
        self.about = kept or {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "copy": [[n, copy_bandwidth(n)] for n in COPIES],
                              "flops": {kind: self.product(kind) for kind in ("bfloat16", "float16", "float32", "int8")}}

    @staticmethod
    def product(kind):
        n = CUBE if kind != "float32" else CUBE // 4
        if kind == "int8":
            a = torch.randint(-128, 128, (n, n), device="cuda", dtype=torch.int8)
            call = lambda: torch._int_mm(a, a.T)
        else:
            a = torch.randn(n, n, device="cuda").to(getattr(torch, kind))
            call = lambda: a @ a.T
        return 2 * n ** 3 / times_of({"product": [call]}, milliseconds=40)["product"]

    def bandwidth(self, size):
        """Of a copy that moves so many bytes, read and written together."""
        copies = self.about["copy"]
        if size <= copies[0][0]:
            return copies[0][1]
        for (a, fast), (b, faster) in zip(copies, copies[1:]):
            if size <= b:
                t = math.log(size / a) / math.log(b / a)
                return fast ** (1 - t) * faster ** t
        return copies[-1][1]

    def peak(self, case):
        return self.about["flops"]["int8" if case.op.endswith("int8") else case.type]

    def floor(self, case):
        """Seconds that it needs at least, and why."""
        memory, arithmetic = bytes_(case) / self.bandwidth(bytes_(case)), flops(case) / self.peak(case)
        return max(memory, arithmetic), "arithmetic" if arithmetic > memory else "memory"


def apart(ours, expected, case, looser=1):
    """A sentence where two lists of results are not the same numbers."""
    looser *= LOOSER.get(case.op, 1)
    square = total = 0.0
    for r, e in zip(ours, expected):
        if tuple(r.shape) != tuple(e.shape):
            return f"a result of {tuple(r.shape)} instead of {tuple(e.shape)}"
        r, e = r.double(), e.double()
        bad = int((~r.isfinite()).sum() - (~e.isfinite()).sum())
        if bad:
            return f"{bad} of {r.numel()} are not finite"
        difference, scale = (r - e).nan_to_num(0), float(e.nan_to_num(0).abs().max())
        worst = float(difference.abs().max()) / max(scale, 1e-30) / EPSILON[case.type]
        if worst > LARGEST * looser:
            return f"a result is off by {worst:.1f} epsilons of the largest"
        square += float(difference.square().sum())
        total += float(e.nan_to_num(0).square().sum())
    distance = (square / max(total, 1e-300)) ** 0.5
    return f"relative distance {distance:.1e}" if distance > DISTANCE[case.type] * looser else None


def tuple_of(x):
    return x if isinstance(x, (tuple, list)) else (x,)


def unpacked(path, folder):
    """The library, which packs hold compressed, in a folder."""
    name = os.path.join(folder, os.path.basename(path))
    if not os.path.exists(name):
        with open(name, "wb") as f, lzma.open(path + ".xz") as packed:
            f.write(packed.read())
    return name


def intact(v, of, case):
    x = getattr(v, next(iter(of.tensors)))
    if not case.gap:
        return True
    between = x._base[:, x.shape[1]:]
    return bool((between.isnan() if between.is_floating_point() else between == 77).all())


def peers_of(of, sets, compile_too):
    """name -> calls, without those that torch.compile makes."""
    made = {"torch": of.function} if of.function else {}
    made.update({n: f for n, f in of.more.items() if not n.startswith("torch.compile")})
    contestants = {n: [lambda v=v, f=f: f(v) for v in sets] for n, f in made.items()}
    if compile_too:
        for n, f in functions(of).items():
            run = torch.compile(f, dynamic=False)
            contestants[n] = [lambda v=v, run=run: run(v) for v in sets]
    return contestants


def first_line(failure):
    return (str(failure).strip().splitlines() or [type(failure).__name__])[0][:150]


def timed(case, library, compile_too, milliseconds):
    """(times, notes, what is wrong with ours, what the library says that it chose)"""
    of, notes = meaning(case), []
    size = bytes_(case)
    count = sets_for(size)
    torch._dynamo.reset()
    first = inputs(case, of, 1)
    results = outputs(case, of, library)
    ours = [library.call({**given(first, of), **results})]
    version = said_by(ours[0], library.native.halyard_set_verbose)
    torch.cuda.synchronize()
    if not intact(first, of, case):
        return None, notes, "writes between the rows of an input", version
    wrong = None
    for r, e in reference(case, of, first, results):
        wrong = wrong or apart([r], [e], case)
    if not wrong:
        holes = sum(int(r.isnan().sum()) for r in compared(of, results) if r.is_floating_point())
        wrong = f"{holes} results are NaN" if holes else None
    if wrong:
        return None, notes, wrong, version
    sets, kept = [first], [results]
    for seed in range(2, count + 1):
        sets.append(inputs(case, of, seed))
        kept.append(outputs(case, of, library))
        ours.append(library.call({**given(sets[-1], of), **kept[-1]}))
    contestants = peers_of(of, sets, compile_too)
    for name in list(contestants):
        try:
            failure = apart(tuple_of(contestants[name][0]()), compared(of, results), case, 2)
            if failure:
                failure = f"WRONG: {name} and halyard differ: {failure}"
        except Exception as raised:
            failure = f"{name}: {first_line(raised)}"
        if failure:
            notes.append(failure)
            del contestants[name]
    return times_of({"halyard": ours, **contestants}, milliseconds, use_stream={"halyard": library.use_stream}), notes, None, version


def record_of(case, chosen, times, notes, machine):
    ours, peers = times["halyard"], {n: t for n, t in times.items() if n != "halyard"}
    best = min(peers, key=peers.get) if peers else None
    floor, bound = machine.floor(case)
    return {"key": case.key, "op": case.op, "label": case.label, "shape": case.shape, "type": SHORT[case.type], "target": "cuda", "cache": "cold",
            "machine": machine.about["gpu"], "bytes": bytes_(case), "flops": flops(case), "floor_seconds": floor, "bound": bound, "seconds": ours,
            "roof_fraction": floor / ours, "peer": best, "peer_seconds": peers.get(best), "ratio": peers[best] / ours if best else None,
            "contestants": times, "notes": notes, "chosen": chosen, "case": case.record(),
            "time": time.strftime("%Y-%m-%d %H:%M:%S")}


def said(r):
    peers = "  ".join(f"{n} {t * 1e6:.1f}" for n, t in r["contestants"].items() if n != "halyard")
    ratio = f"{r['ratio']:5.2f}" if r["ratio"] else "    -"
    return (f"[{r['case']['index']:4}] {ratio} {100 * r['roof_fraction']:4.0f}% {(r['op'] + ' ' + r['label']).strip()[:52]:52} {r['shape']:44} {r['type']:4} "
            f"{r['seconds'] * 1e6:9.1f} us  {peers}")


def work(o, folder, cases, results, until):
    setup()
    machine = Machine(results.content.get("machine"))
    results.update(machine=machine.about)
    done, took, n, loaded = results.done(), [], 0, {}
    unpacked_to = tempfile.TemporaryDirectory()
    left = [(c, library) for c, library in cases if c.index not in done]
    for case, name in left:
        now = time.time()
        average = sum(took) / len(took) if took else 0
        if now + min(average, 3) > until - 1:
            break
        # Cases count for more than one peer of them: where time runs out, without what compiles.
        compile_too = not o.no_compile and (len(took) < 10 or (len(left) - n) * average < 1.3 * (until - now))
        print("BEGIN " + json.dumps({"index": case.index, "key": case.key}), flush=True)
        try:
            if name not in loaded:
                loaded[name] = Library(unpacked(os.path.join(folder, "libraries", name + ".so"), unpacked_to.name), name)
            library = loaded[name]
            times, notes, wrong, version = timed(case, library, compile_too, o.milliseconds)
            if not wrong:
                if not compile_too and not o.no_compile and functions(meaning(case)):
                    notes.append("torch.compile: no time was left")
                record = record_of(case, {"library": name, "version": version}, times, notes, machine)
                results.add("records", record)
                print(said(record), flush=True)
        except torch.OutOfMemoryError as failure:
            wrong = f"out of memory: {first_line(failure)}"
        except Exception as failure:
            wrong = f"{type(failure).__name__}: {first_line(failure)}"
            if "CUDA error" in wrong or "illegal" in wrong:  # the context is gone
                results.add("failed", {"index": case.index, "key": case.key, "message": wrong})
                print(f"FAILED {case.index} {case.key}: {wrong}", flush=True)
                unpacked_to.cleanup()
                os._exit(3)
        if wrong:
            results.add("failed", {"index": case.index, "key": case.key, "message": wrong})
            print(f"FAILED {case.index} {case.key}: {wrong}", flush=True)
        torch.cuda.empty_cache()
        took.append(time.time() - now)
        n += 1
    return 0


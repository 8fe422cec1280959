"""The process of a stress run that calls libraries: each case alone first, against its reference, then many times beside other work."""

import json
import os
import time

import torch

from ..population.chosen import said_by
from .library import Library
from .run import error_of, expected_of, inputs, is_right, numbers_of, outputs, scalars
from .stress_cases import ANY
from .sweep_time import first_line

QUIET = 4     # calls alone whose results have to be the same bits
AT_ONCE = 25  # calls between two looks at the clock
FEWEST = 50   # calls of a case, where time runs short


class Card:
    """The GPU. Tests have an emulated one in its place."""

    def __init__(self, streams, size):
        from .stress_traffic import Traffic
        self.name = torch.cuda.get_device_name()
        self.traffic = Traffic(streams, size)
        self.stream = torch.cuda.Stream()
        torch.cuda.set_stream(self.stream)  # of its own: the default one waits for others

    @staticmethod
    def library(path, function):
        return Library(path, function)

    @staticmethod
    def synchronize():
        torch.cuda.synchronize()

    @staticmethod
    def release():
        torch.cuda.empty_cache()


def bits_of(t):
    return t.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[t.element_size()])


def poison(results):
    for r in results.values():
        r.fill_(float("nan") if r.is_floating_point() else 77)


def exact_error(result, expected):
    """A sentence where integers are not those that are expected."""
    apart = int(((result.long() != expected.long()) & (expected.long() != ANY)).sum())
    return f"{apart} of {result.numel()} integers are others" if apart else None


def quiet_error(case, kind, results, expected):
    """Epsilons by which the results are off, or a sentence where they are wrong."""
    found = numbers_of(case, results)
    integers = [(r, e) for r, e in zip(found, expected) if r.dtype == torch.int32]
    numbers = [(r, e) for r, e in zip(found, expected) if r.dtype != torch.int32]
    for r, e in integers:
        if exact_error(r, e):
            return exact_error(r, e)
    error = error_of([r for r, _ in numbers], [e for _, e in numbers], kind or "float32")
    if is_right(case, kind or "float32", error):
        return error
    return error if isinstance(error, str) else f"off by {error:.1f} epsilons"


class Calls:
    """Calls of a case, each of which is compared with the bits of the first."""

    def __init__(self, device, case, dims, kind, library):
        self.device, values = device, inputs(case, dims, kind, 1)
        self.results = outputs(case, dims, kind, library)
        self.call = library.call({**values, **self.results, **scalars(case, dims)})
        self.version = said_by(self.call, library.native.halyard_set_verbose)
        device.synchronize()
        expected = expected_of(case, dims, values)
        self.error = quiet_error(case, kind, self.results, expected)
        self.first = [bits_of(r).clone() for r in self.results.values()]

    def differing(self, count):
        """Of so many calls, how many elements of each are other than in the first."""
        counts = torch.zeros(count, dtype=torch.int64, device=self.first[0].device)
        for i in range(count):
            poison(self.results)
            self.call()
            for r, first in zip(self.results.values(), self.first):
                counts[i] += (bits_of(r) != first).sum()
        self.device.synchronize()
        return counts.tolist()

    def until(self, count, end):
        """The same of up to so many calls, FEWEST at least, of which none begins after that time."""
        differing = []
        while len(differing) < count and (len(differing) < min(FEWEST, count) or time.time() < end):
            differing += self.differing(min(AT_ONCE, count - len(differing)))
        return differing


def stressed(device, case, dims, kind, library, count, end):
    """A record. Alone, a case may be wrong, or unlike itself: then nothing is called beside other work."""
    began = time.time()
    calls = Calls(device, case, dims, kind, library)
    record = {"op": case.op, "label": case.label, "schedule": case.schedule, "type": kind, "dims": dims, "version": calls.version, "error": calls.error}
    if isinstance(calls.error, str):
        return {**record, "message": calls.error}
    if any(calls.differing(QUIET)):
        return {**record, "message": "other bits when called again, alone"}
    with device.traffic:
        differing = calls.until(count, end)
    wrong = [n for n in differing if n]
    return {**record, "calls": len(differing), "wrong": len(wrong), "most_elements": max(wrong, default=0), "seconds": round(time.time() - began, 3)}


def said(index, r):
    shape = "x".join(str(n) for n in r["dims"].values())
    what = f"[{index:4}] {(r['op'] + ' ' + r['label']).strip()[:44]:44} {shape[:34]:34} {r['type'][:8]:8}"
    if "message" in r:
        return f"{what} WRONG alone: {r['message']}"
    return f"{what} {r['calls']:5} calls " + (f"WRONG: {r['wrong']}, up to {r['most_elements']} elements" if r["wrong"] else "0 wrong")


def work(o, libraries, cases, results, until, make_device=Card):
    """`cases`: (index, case, dims, kind, library), in the order in which they are called; `libraries`: the folder."""
    device, done = make_device(o.streams, o.megabytes << 20), results.done()
    results.update(gpu=device.name, torch=torch.__version__)
    left, loaded = [c for c in cases if c[0] not in done], {}
    for n, (index, case, dims, kind, name) in enumerate(left):
        now = time.time()
        if now > until - 1:
            break
        print("BEGIN " + json.dumps({"index": index, "name": name, "dims": dims}), flush=True)
        try:
            if name not in loaded:
                loaded[name] = device.library(os.path.join(libraries, name + ".so"), name)
            share = 1.5 * (until - now) / (len(left) - n)  # cases that end sooner leave theirs to others
            record = {"index": index, "name": name, **stressed(device, case, dims, kind, loaded[name], o.calls, now + share)}
            results.add("records", record)
            print(said(index, record), flush=True)
        except Exception as failure:
            message = f"{type(failure).__name__}: {first_line(failure)}"
            results.add("failed", {"index": index, "name": name, "dims": dims, "message": message})
            print(f"FAILED [{index}] {name} {dims}: {message}", flush=True)
            if "CUDA error" in message or "illegal" in message:  # the context is gone
                os._exit(3)
        device.release()
    return 0

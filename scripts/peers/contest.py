"""One row of the table: builds Halyard's kernels, readies the peers, compares the numbers, times all
of them in turns, and makes the record."""

import time

from . import library, measure, onednn, openblas
from .contestants import Case, Ours, Unavailable, TOLERANCE, difference, makers
from .entry import TYPES, call_by_name, dims_of
from .frameworks import torch
from .population.chosen import said_by

MATRIX = {"GEMM", "attention", "convolution", "blocks"}  # whose arithmetic is dot products
SETTLING = 0.012  # longer than OpenMP's workers spin after a call, which is 300000 times


class Machine:
    def __init__(self, threads):
        self.threads, self.about = threads, library.machine(threads)
        self.multiply = {}

    @property
    def name(self):
        """Under which ratios are recorded."""
        return f"{self.about['model']}, {self.about['level']}, {self.about['processors']} processors"

    def bandwidth(self, size):
        """Of a copy whose data is where a kernel with that many bytes finds its own."""
        return next((speed for limit, speed in self.about["copy"] if size <= limit), self.about["copy"][-1][1])

    def flops(self, kind, family):
        if family not in MATRIX or kind not in ("bf16", "int8"):
            return self.about["flops"]
        if kind not in self.multiply:
            self.multiply[kind] = library.multiply_peak(kind, self.threads)
        # What has an instruction may still be faster converted: Intel's dot products of bf16 without AMX.
        return max(self.multiply[kind] or 0, self.about["flops"])


def value(field, dims):
    return call_by_name(field, dims) if callable(field) else field


class Settled:
    """A contestant that runs for a while before each sample, so that its own workers are awake and those of the one before
    asleep: spinning, they steal a core. A pause alone has the system wake a processor in the sample (two threads 20 to 100 %
    slower where it is a virtual one), and OMP_WAIT_POLICY=passive makes torch up to a fifth slower on two threads."""

    def __init__(self, inner, sets):
        self.inner, self.name, self.sets = inner, inner.name, sets

    def sample(self, first, calls):
        until = time.perf_counter() + SETTLING
        while time.perf_counter() < until:
            self.inner.sample(first + self.sets // 2, 1)  # arguments that the sample does not begin with
        return self.inner.sample(first, calls)


def requests(entry, shape, kind, amx, schedules=()):
    """What library.Kernel takes, for each schedule of a row: the entry's, or others that were asked for."""
    known = {**dims_of(shape), "type": kind, "amx": amx}
    params = dict(value(entry.params, known))
    if kind in TYPES:
        params.setdefault("type", TYPES[kind])
    settings = value(entry.settings, known)
    return [(entry.op, schedule, params, settings) for schedule in schedules or value(entry.schedules, known)]


class Contest:
    def __init__(self, entry, shape, kind, machine, options):
        self.entry, self.shape, self.kind, self.machine, self.o = entry, shape, kind, machine, options
        self.dims, self.notes, self.wrong = dims_of(shape), [], []

    def kernels(self):
        made = []
        for request in requests(self.entry, self.shape, self.kind, "amx_bf16" in self.machine.about["flags"], self.o.schedule):
            try:
                made.append(library.Kernel(*request))
            except library.Failure as failure:
                self.notes.append(f"halyard {request[1] or self.entry.op}: {failure}")
        if not made:
            raise library.Failure("; ".join(self.notes))
        return made

    def caches(self, size):
        """What is timed: in cache, out of it, or both."""
        twice = 2 * self.machine.about["last_level"]
        if size > twice:
            return ["cold"]
        return ["warm", "cold"] if self.entry.cold else ["warm"]

    def run(self):
        kernels = self.kernels()
        first = library.Arguments(kernels[0], self.shape, strides=self.entry.strides)
        size = value(self.entry.bytes, self.dims) or first.bytes
        for cache in self.caches(first.bytes):
            kept = list(self.notes)
            yield self.one(cache, kernels, first, size)
            self.notes, self.wrong = kept, []

    def one(self, cache, kernels, first, size):
        count = 1
        if cache == "cold":
            count = min(int(2 * self.machine.about["last_level"] / max(first.bytes, 1)) + 1, 512)
        ours, peers = [], []
        for kernel in kernels:
            kernel.set_threads(self.machine.threads)
            sets = [library.Arguments(kernel, self.shape, seed + 1, self.entry.strides) for seed in range(count)]
            ours.append(Ours(kernel, sets))
        if torch:
            peers = self.peers(ours)
        else:
            for o in ours:
                o.sample(0, 1)
        said = {o.name: said_by(lambda o=o: o.sample(0, 1), o.kernel.set_verbose) for o in ours} if self.entry.case else {}
        all_ = ours + [p for p in peers if p.name not in self.wrong]
        if self.machine.threads > 1 and peers:
            all_ = [Settled(c, count) for c in all_]
        with self.o.lock:
            times = measure.measure(all_, count, self.o.seconds)
        return self.record(cache, size, times, [o.name for o in ours], said)

    def peers(self, ours):
        torch.set_num_threads(self.machine.threads)
        openblas.set_threads(self.machine.threads)
        onednn.set_threads(self.machine.threads)
        case = Case(self.entry, self.shape, self.kind, self.machine.threads, ours[0].sets)
        ours[0].sample(0, 1)
        expected = [r.clone() for r in case.results()]
        for other in ours[1:]:
            self.same_inputs(ours[0], other)
            values = Case(self.entry, self.shape, self.kind, self.machine.threads, other.sets)
            other.sample(0, 1)
            self.compare(other.name, expected, values.results())
        peers = []
        with torch.no_grad():
            for name, make in makers(case, self.o.peers):
                try:
                    peer = make()
                    if self.compare(name, expected, peer.results()):
                        peers.append(peer)
                except Unavailable as note:
                    self.notes.append(f"{name}: {note}")
                except Exception as failure:  # whatever a peer does, the row goes on without it
                    first_line = (str(failure).strip().splitlines() or [""])[0]
                    self.notes.append(f"{name}: {type(failure).__name__}: {first_line[:150]}")
        return peers

    @staticmethod
    def same_inputs(one, other):
        from .contestants import tensor
        for a, b in zip(one.sets, other.sets):
            given = {i["name"]: i for i in a.items if i["buffer"] and not i["output"]}
            for i in b.items:
                if i["name"] in given and given[i["name"]]["extents"] == i["extents"]:
                    tensor(i).copy_(tensor(given[i["name"]]))

    def compare(self, name, expected, results):
        sentence, distance = difference(expected, results)
        limit = TOLERANCE.get(self.kind, 1e-4) * self.entry.tolerance
        if sentence is None and distance > limit:
            sentence = f"relative distance {distance:.1e}, more than {limit:.0e}"
        if sentence:
            self.wrong.append(name)
            self.notes.append(f"WRONG: {name} and halyard differ: {sentence}")
        return not sentence

    def record(self, cache, size, times, ours, said):
        flops = value(self.entry.flops, self.dims) or library.flops(self.entry.op, self.shape)
        arithmetic = flops / self.machine.flops(self.kind, self.entry.family)
        bandwidth = self.machine.bandwidth(size) if cache == "warm" else self.machine.about["copy"][-1][1]
        floor = max(size / bandwidth, arithmetic)
        best = min(ours, key=lambda n: times[n].least)
        others = [n for n in times if n not in ours]
        record = {
            "key": key(self.entry, self.shape, self.kind, self.machine.threads, cache),
            "op": self.entry.op, "label": self.entry.label, "family": self.entry.family, "shape": self.shape,
            "type": self.kind, "target": "host", "schedule": best, "threads": self.machine.threads, "cache": cache,
            "bytes": size, "flops": flops, "floor_seconds": floor,
            "bound": "arithmetic" if arithmetic >= size / bandwidth else "memory",
            "seconds": times[best].least, "seconds_median": times[best].median,
            "roof_fraction": floor / times[best].least,
            "roof_quartiles": spread([floor / t for t in times[best].repeats()]),
            "peer": None, "peer_seconds": None, "ratio": None, "ratio_quartiles": None,
            "contestants": {n: {"least": t.least, "median": t.median, "quartiles": t.quartiles}
                            for n, t in times.items()},
            "notes": self.notes, "wrong": self.wrong, "machine": self.machine.name,
            "time": time.strftime("%Y-%m-%d %H:%M:%S")}
        if self.entry.case:
            record.update(case=self.entry.case, chosen={"schedule": best, "version": said.get(best)})
        if others:
            peer = min(others, key=lambda n: times[n].least)
            # The best peer of each part of the run against the best of ours beside it: by how much
            # these differ is the noise of the ratio.
            ratios = [min(p) / min(o) for p, o in zip(zip(*[times[n].repeats() for n in others]),
                                                      zip(*[times[n].repeats() for n in ours]))]
            record.update(peer=peer, peer_seconds=times[peer].least, ratio=times[peer].least / times[best].least,
                          ratio_quartiles=spread(ratios))
        return record


def spread(values):
    return list(measure.quartiles(values))


def key(entry, shape, kind, threads, cache):
    return f"{entry.name} {shape} {kind} {cache} {threads}t"

"""Checks and times the libraries of a pack, on a machine with a GPU, torch and nothing else of Halyard's.

    python3 -m gpu.run [--json FILE] [--check | --time | --bytes] [OP...]      in the folder of the pack

--bytes: what one call moves to and from device memory, as Nsight Compute (ncu) counts it, beside what its arguments
have, and beside what `halyard explain` says where the pack was made with --predict. An op whose intermediates went
through device memory moves more.
"""

import argparse
import csv
import importlib.util
import inspect
import json
import os
import shutil
import subprocess
import sys

import torch

from .library import Library
from .table import CASES

EPSILON = {"float32": 2.0 ** -23, "float16": 2.0 ** -10, "bfloat16": 2.0 ** -7}
HAS_TRITON = importlib.util.find_spec("triton") is not None
DEVICE = os.environ.get("HALYARD_SWEEP_DEVICE", "cuda")  # another one for tests of what is made here
SETS_OF_BYTES = 256 << 20  # inputs rotate among sets that are together several times the L2


def of_experts(what, dims, extents, g):
    """Where the experts' rows begin, which have as many each, or what says which row is which."""
    count = dims["tokens"] * dims["top_k"]
    if what == "offsets":
        return (torch.arange(dims["experts"] + 1, device=DEVICE) * count // dims["experts"]).int()
    if what == "row_index":
        return torch.randint(0, dims["tokens"], extents, generator=g, device=DEVICE, dtype=torch.int32)
    return torch.randperm(count, generator=g, device=DEVICE).view(extents).int()


def inputs(case, dims, kind, seed):
    g = torch.Generator(device=DEVICE).manual_seed(seed)
    values = {}
    for name, (extents, what) in case.tensors(dims).items():
        if callable(what):
            values[name] = what(extents, dims, g)
            continue
        if what == "labels":
            values[name] = torch.randint(0, dims["cols"], extents, generator=g, device=DEVICE, dtype=torch.int32)
            continue
        if what == "in order":
            values[name] = torch.arange(*extents, device="cuda", dtype=torch.int32)
            continue
        if what in ("offsets", "row_index", "place"):
            values[name] = of_experts(what, dims, extents, g)
            continue
        if what in ("lengths", "columns"):
            low, high = (1, dims["keys"] + 1) if what == "lengths" else (0, dims["n"])
            values[name] = torch.randint(low, high, extents, generator=g, device=DEVICE, dtype=torch.int32)
            continue
        if what in ("uint8", "int8"):
            low = -128 if what == "int8" else 0
            values[name] = torch.randint(low, low + 256, extents, generator=g, device=DEVICE).to(getattr(torch, what))
            continue
        if what == "positive":
            values[name] = torch.rand(extents, generator=g, device=DEVICE) + 0.5
            continue
        x = torch.randn(extents, generator=g, device=DEVICE, dtype=torch.float32)
        if name.startswith("w_"):  # as weights are, so that nothing overflows behind several layers
            x /= extents[-1] ** 0.5
        values[name] = x.to(getattr(torch, kind if what == "type" else what))
    return values


def scalars(case, dims):
    return {**case.scalars, **(case.sizes(dims) if case.sizes else {})}


def named(function, values):
    parameters = inspect.signature(function).parameters
    if any(p.kind == p.VAR_KEYWORD for p in parameters.values()):
        return function(**values)
    return function(**{n: values[n] for n in parameters if n in values})


def gap_between_rows(columns, apart):
    """Elements that lie between rows of so many: none, some, or up to the next multiple of 16 ("chunks"), but at least one."""
    return (columns // 16 + 1) * 16 - columns if apart == "chunks" else apart


def outputs(case, dims, kind, library, apart=0):
    """Poisoned; where rows are apart, parts of larger tensors."""
    kinds = {(2, 32): torch.float32, (2, 16): torch.float16, (4, 16): torch.bfloat16, (0, 8): torch.int8, (0, 32): torch.int32, (1, 8): torch.uint8}
    made = {}
    for name, extents in case.outputs(dims).items():
        code = next((c, b) for n, _, c, b in library.arguments if n == name)
        poison = float("nan") if kinds[code].is_floating_point else 77
        gap = gap_between_rows(extents[-1], apart) if len(extents) > 1 else 0
        wide = torch.full((*extents[:-1], *(e + gap for e in extents[-1:])), poison, device=DEVICE, dtype=kinds[code])
        made[name] = wide[..., :extents[-1]] if gap else wide
    return made


def are_gaps_intact(results):
    """Whether what lies between the rows of outputs is still poison."""
    for r in results.values():
        if r._base is not None:
            between = r._base[..., r.shape[-1]:]
            if not bool((between.isnan() if between.is_floating_point() else between == 77).all()):
                return False
    return True


def tuple_of(values):
    return values if isinstance(values, tuple) else (values,)


def numbers_of(case, results):
    """Outputs as the numbers that they are."""
    is_bytes = [case.bytes_are and r.dtype == torch.uint8 for r in results.values()]
    return [r.view(getattr(torch, case.bytes_are)) if b else r for b, r in zip(is_bytes, results.values())]


def error_of(results, expected, kind):
    """The largest error in units of the type's epsilon times the largest that is expected, or a sentence."""
    worst = 0.0
    for r, e in zip(results, expected):
        r = r.double()
        if r.isnan().any():
            return f"{int(r.isnan().sum())} of {r.numel()} are NaN"
        scale = max(float(e.double().abs().max()), 1e-30)
        worst = max(worst, float((r - e.double()).abs().max()) / scale / EPSILON[kind])
    return worst


def is_right(case, kind, error, tolerance=1.0):
    return not isinstance(error, str) and error <= 8 * case.tolerance * tolerance * (16 if kind == "float32" else 1)


def expected_of(case, dims, values):
    """What the reference gives, in float64 where torch has that."""
    def with_floats(convert):
        return {**{n: convert(v) if v.is_floating_point() else v for n, v in values.items()}, **scalars(case, dims)}
    try:
        return tuple_of(named(case.reference, with_floats(lambda v: v.double())))
    except (RuntimeError, NotImplementedError):
        return tuple_of(named(case.reference, with_floats(lambda v: v.float())))


def check(case, dims, kind, library, apart=0):
    """What error_of() says of ours against float64, or a sentence."""
    values = inputs(case, dims, kind, 1)
    if apart:  # rows that begin at no multiples of 16 bytes, or at such and end anywhere
        for n, v in values.items():
            if v.dim() == 2:
                wide = torch.empty(v.shape[0], v.shape[1] + gap_between_rows(v.shape[1], apart), device="cuda", dtype=v.dtype)
                wide[:, :v.shape[1]] = v
                values[n] = wide[:, :v.shape[1]]
    expected = expected_of(case, dims, values)
    results = outputs(case, dims, kind, library, apart)
    library.call({**values, **results, **scalars(case, dims)})()
    torch.cuda.synchronize()
    if not are_gaps_intact(results):
        return "writes between the rows of an output"
    error = error_of(numbers_of(case, results), expected, kind)
    if isinstance(error, str):
        return error
    again = outputs(case, dims, kind, library, apart)
    library.call({**values, **again, **scalars(case, dims)})()
    torch.cuda.synchronize()
    if any(not torch.equal(a, b) for a, b in zip(again.values(), results.values())):
        return "another result when called again"
    return error


def captured(calls, on_stream):
    """The calls as a CUDA graph, so that what the host does between them takes no time; nothing where they cannot be captured."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            on_stream()
            for c in calls:
                c()
        graph.replay()
        torch.cuda.synchronize()
    except RuntimeError:
        torch.cuda.synchronize()
        graph = None
    on_stream()
    return graph


def times_of(contestants, milliseconds=60, use_stream=None, in_graph=True):
    """The median time of a call of each contestant in seconds: its calls rotate, in a CUDA graph where they can be captured.
    Contestants take turns, as the clock falls under products and comes back later. `use_stream`: by name, what is called when
    the current stream is another."""
    runs, samples = {}, {}
    for name, calls in contestants.items():
        on_stream = (use_stream or {}).get(name, lambda: None)
        try:
            for c in calls:
                c()
            torch.cuda.synchronize()
            graph = captured(calls, on_stream) if in_graph else None
        except Exception as failure:  # a peer that does not run counts for nothing
            if name in (use_stream or {}):
                raise
            print(f"    {name}: {str(failure).splitlines()[0][:150]}", flush=True)
            continue
        runs[name] = graph.replay if graph else lambda calls=calls: [c() for c in calls]
        samples[name] = []
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    spent, order = 0.0, list(runs)
    while spent < milliseconds * len(order) or len(samples[order[0]]) < 7:
        for name in order:
            begin.record()
            runs[name]()
            end.record()
            end.synchronize()
            t = begin.elapsed_time(end)
            samples[name].append(t / len(contestants[name]))
            spent += t
        order = order[1:] + order[:1]
    return {name: sorted(s)[len(s) // 2] / 1e3 for name, s in samples.items()}


def sets_for(size):
    return max(2, min(24, -(-SETS_OF_BYTES // max(size, 1))))


def timed(case, dims, kind, library):
    size = sum(v.numel() * v.element_size() for v in inputs(case, dims, kind, 1).values())
    sets = [inputs(case, dims, kind, s) for s in range(sets_for(size))]
    results = [outputs(case, dims, kind, library) for _ in sets]
    moved = size + sum(r.numel() * r.element_size() for r in results[0].values())
    ours = [library.call({**v, **r, **scalars(case, dims)}) for v, r in zip(sets, results)]
    contestants = {"halyard": ours}
    for name, function in case.peers.items():
        if name == "Triton" and not HAS_TRITON:
            continue
        contestants[name] = [lambda v=v, f=function: named(f, {**v, **scalars(case, dims)}) for v in sets]
    if "torch" in case.peers:
        torch._dynamo.reset()
        f = case.peers["torch"]
        compiled = torch.compile(lambda values: named(f, values), dynamic=False)
        contestants["torch.compile"] = [lambda v=v: compiled({**v, **scalars(case, dims)}) for v in sets]
    ours[0]()
    for name in [n for n in contestants if n != "halyard" and not n.endswith(" alone")]:  # what does a part of the op says so
        # Ours is held against float64 by check(); a peer with another result counts for nothing.
        try:
            error = error_of(tuple_of(contestants[name][0]()), numbers_of(case, results[0]), kind)
            if is_right(case, kind, error, case.peer_tolerance):
                continue
            failure = f"another result than ours: {error if isinstance(error, str) else f'{error:.1f} epsilons'}"
        except Exception as raised:
            failure = str(raised).splitlines()[0][:150]
        print(f"    {name}: {failure}", flush=True)
        del contestants[name]
    times = times_of(contestants, use_stream={"halyard": library.use_stream})
    return times, moved


def copy_bandwidth(size):
    n = max(size // 2, 1 << 20)
    count = sets_for(n)
    a = [torch.empty(n, dtype=torch.uint8, device="cuda") for _ in range(count)]
    b = [torch.empty(n, dtype=torch.uint8, device="cuda") for _ in range(count)]
    # Not in a graph, where a large copy goes another, slower way.
    return 2 * n / times_of({"copy": [lambda x=x, y=y: y.copy_(x) for x, y in zip(a, b)]}, in_graph=False)["copy"]


def report(case, dims, kind, times, moved):
    ours = times["halyard"]
    peers = {n: t for n, t in times.items() if n != "halyard"}
    best = min(peers, key=peers.get) if peers else ""
    record = {"op": case.op, "label": case.label, "dims": dims, "type": kind, "seconds": ours, "bytes": moved, "peers": peers,
              "best": best, "ratio": peers[best] / ours if best else None}
    shape = "x".join(str(v) for v in dims.values())
    rate = f"{case.flops(dims) / ours / 1e12:7.1f} TFLOP/s" if case.flops else f"{moved / ours / 1e12:7.2f} TB/s"
    copy = "" if case.flops else f" {moved / ours / copy_bandwidth(moved):5.2f} of a copy"
    print(f"{(case.op + ' ' + case.label).strip():28} {shape:18} {kind:9} {ours * 1e6:9.1f} us {rate}{copy}  "
          + "  ".join(f"{n} {t * 1e6:.1f} ({t / ours:.2f})" for n, t in peers.items()), flush=True)
    return record


MARK = "spin_kernel"  # of torch.cuda._sleep


def libraries(folder, ops):
    """What is timed and in the pack: case, type, dims, library."""
    for case in CASES:
        for kind in case.types:
            path = os.path.join(folder, case.library(kind) + ".so")
            if (not ops or case.op in ops) and case.timed and os.path.exists(path):
                yield case, kind, case.timed[0], Library(path, case.library(kind))


def call_each_once(folder, ops):
    """For the profiler; prints what each call's arguments hold in bytes."""
    for case, kind, dims, library in libraries(folder, ops):
        values, results = inputs(case, dims, kind, 1), outputs(case, dims, kind, library)
        call = library.call({**values, **results, **scalars(case, dims)})
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        torch.cuda._sleep(1)  # a kernel of its own (MARK) before those of each call
        call()
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        tensors = [v for v in (*values.values(), *results.values()) if isinstance(v, torch.Tensor)]
        print("CALLED", json.dumps({"library": case.library(kind), "op": case.op, "label": case.label, "dims": dims, "type": kind,
                                    "bytes": sum(t.numel() * t.element_size() for t in tensors)}), flush=True)


def predictions(folder):
    """Bytes by library, as `gpu.pack --predict` wrote them."""
    try:
        with open(os.path.join(folder, "pack.json")) as f:
            return json.load(f)["predicted"]
    except FileNotFoundError:  # libraries that were built one by one
        return {}


def profile_bytes(folder, ops):
    """Records of bytes counted, in arguments, and predicted where the pack was made with --predict."""
    if not shutil.which("ncu"):
        sys.exit("error: --bytes needs Nsight Compute: put ncu into PATH")
    r = subprocess.run(["ncu", "--csv", "--profile-from-start", "off", "--print-units", "base", "--metrics",
                        "dram__bytes_read.sum,dram__bytes_write.sum", sys.executable, "-m", "gpu.run", "--once", *ops],
                       capture_output=True, text=True)
    lines = r.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        sys.exit(f"error: ncu counted nothing: {(r.stdout + r.stderr).strip()[-300:]}")
    called = [json.loads(line[7:]) for line in lines if line.startswith("CALLED ")]
    counted, kernel = [], None
    for row in csv.DictReader(line for line in lines[start:] if line.startswith('"')):
        if MARK in row["Kernel Name"]:
            counted += [0.0] if row["ID"] != kernel else []
            kernel = row["ID"]
        else:
            counted[-1] += float(row["Metric Value"].replace(",", ""))
    predicted = predictions(folder)
    for c, n in zip(called, counted):
        c["counted"], c["predicted"] = n, predicted.get(c["library"])
        shape = "x".join(str(v) for v in c["dims"].values())
        print(f"{(c['op'] + ' ' + c['label']).strip():32} {shape:24} {c['type']:9} {n / 1e6:10.1f} MB counted "
              f"{c['bytes'] / 1e6:10.1f} MB in arguments  {n / c['bytes']:.2f}"
              + (f" {c['predicted'] / 1e6:10.1f} MB predicted  {n / c['predicted']:.2f}" if c["predicted"] else ""), flush=True)
    return called


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("ops", nargs="*")
    p.add_argument("--json")
    p.add_argument("--check", action="store_true")
    p.add_argument("--time", action="store_true")
    p.add_argument("--bytes", action="store_true")
    p.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    o = p.parse_args()
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if o.once:
        return call_each_once(folder, o.ops)
    if o.bytes:
        records = profile_bytes(folder, o.ops)
        if o.json:
            with open(o.json, "w") as f:
                json.dump(records, f, indent=1)
        return None
    torch.backends.cudnn.benchmark = True  # the best of its kernels, not the first that fits
    print(torch.cuda.get_device_name(), f"copy of 2 GiB {copy_bandwidth(4 << 30) / 1e12:.2f} TB/s",
          "" if HAS_TRITON else "no Triton here", flush=True)
    records, wrong = [], 0
    for case in CASES:
        if o.ops and case.op not in o.ops:
            continue
        for kind in dict.fromkeys((*case.types, *case.checked_types)):
            path = os.path.join(folder, case.library(kind) + ".so")
            if not os.path.exists(path):
                continue
            library = Library(path, case.library(kind))
            if not o.time:
                for dims in case.checked:
                    for apart in (0, 3, "chunks"):
                        try:
                            error = check(case, dims, kind, library, apart)
                        except RuntimeError as failure:
                            error = str(failure)
                        bad = not is_right(case, kind, error)
                        wrong += bad
                        if bad:
                            print(f"WRONG {case.library(kind)} {dims} rows {apart} apart: {error}", flush=True)
                        records.append({"op": case.op, "label": case.label, "type": kind, "dims": dims, "error": error})
            if not o.check and kind in case.types:
                for dims in case.timed:
                    try:
                        records.append(report(case, dims, kind, *timed(case, dims, kind, library)))
                    except RuntimeError as failure:
                        print(f"FAILED {case.library(kind)} {dims}: {failure}", flush=True)
                        wrong += 1
                    torch.cuda.empty_cache()
    if o.json:
        with open(o.json, "w") as f:
            json.dump(records, f, indent=1)
    print(f"{sum('error' in r for r in records)} checks, {wrong} wrong")


if __name__ == "__main__":
    main()

"""Whole models on a GPU, there: `python3 -m gpu.models FOLDER [--json FILE]`, over what `scripts/gpu --models` has packed. Needs numpy alone.

Each model is compared with what onnxruntime said of the same inputs when the folder was packed, and timed: calls one after the other on a
stream, and as a CUDA graph where the driver has them. Ends with 1 where a result is further off than its type allows.
"""

import argparse
import ctypes
import json
import lzma
import os
import statistics
import sys
import tempfile
import time

import numpy as np

# Of the largest element. f32: other sums. bfloat16: arrays between the layers are rounded (2^-8 each).
MOST_OFF = {"float32": 2e-4, "bfloat16": 3 * 2.0 ** -7, "float16": 3 * 2.0 ** -10}
LARGE = 1e-3  # a largest element that is less is a sigmoid that says no everywhere
SECONDS, ROUNDS = 0.15, 7


class Driver:
    """The CUDA driver, or the library that HALYARD_CUDA_DRIVER names: a context that is current, and a stream."""

    def __init__(self):
        self.library = ctypes.CDLL(os.environ.get("HALYARD_CUDA_DRIVER") or "libcuda.so.1")
        self.context, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        device = ctypes.c_int()
        self("cuInit", 0)
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self("cuCtxPushCurrent_v2", self.context)
        self("cuStreamCreate", ctypes.byref(self.stream), 1)

    def __call__(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name}: error {code}")

    def has(self, name):
        return hasattr(self.library, name)

    def memory(self, array):
        place = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(max(array.nbytes, 64)))
        if array.nbytes:
            self("cuMemcpyHtoD_v2", place, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))
        return place

    def read(self, place, array):
        self("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), place, ctypes.c_size_t(array.nbytes))
        return array

    def wait(self):
        self("cuStreamSynchronize", self.stream)


class Model:
    """What `halyard compile --target cuda` made, linked as a shared object with the runtime in it."""

    def __init__(self, folder, name, driver):
        self.name, self.driver = name, driver
        with open(os.path.join(folder, f"{name}.json"), encoding="utf-8") as f:
            self.report = json.load(f)
        self.library = ctypes.CDLL(os.path.join(folder, f"{name}.so"))
        self.library.halyard_last_error.restype = ctypes.c_char_p
        self.library.halyard_cuda_set_stream(driver.stream)
        self.model = ctypes.c_void_p()
        self.check(self.function("load")(os.path.join(folder, f"{name}.weights").encode(), ctypes.byref(self.model)))

    def function(self, what):
        return getattr(self.library, f"{self.name}_{what}")

    def check(self, code):
        if code != 0:
            raise RuntimeError(self.library.halyard_last_error().decode())

    def prepare(self, sizes, inputs, outputs):
        """A call with these arrays, as a function of no arguments, and where its outputs are."""
        dimensions = [d["name"] for d in self.report["dimensions"]]
        given = (ctypes.c_int32 * max(len(dimensions), 1))(*[sizes[d] for d in dimensions])
        needed = (ctypes.c_size_t * (1 + len(inputs) + len(outputs)))()
        self.check(self.function("measure")(given, needed))
        for array, bytes_ in zip([*inputs, *outputs], list(needed)[1:]):
            if array.nbytes != bytes_:
                raise RuntimeError(f"{self.name}: an array of {array.nbytes} bytes, where the model has {bytes_}")
        # Poisoned: what is not written is not right.
        places = [self.driver.memory(a) for a in [*inputs, *[np.full_like(a, -77) for a in outputs]]]
        workspace = self.driver.memory(np.full(needed[0], 0xff, np.uint8))
        pointers = (ctypes.c_void_p * len(places))(*[p.value for p in places])
        run, model = self.function("run"), self.model

        def call():
            self.check(run(model, given, pointers, ctypes.c_void_p(workspace.value)))

        def free():
            for p in [*places, workspace]:
                self.driver("cuMemFree_v2", p)
        return call, places[len(inputs):], free


def graph_of(driver, call):
    """The call as a CUDA graph, as a function of no arguments, or None where the driver has no graphs."""
    if not driver.has("cuGraphInstantiateWithFlags"):
        return None
    graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
    driver("cuStreamBeginCapture_v2", driver.stream, 0)
    try:
        call()
    finally:
        driver("cuStreamEndCapture", driver.stream, ctypes.byref(graph))
    driver("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_uint64(0))
    return lambda: driver("cuGraphLaunch", ready, driver.stream)


def seconds_of(driver, call):
    """(least, median) of rounds of many calls, with a wait at the end of each round."""
    def round_of(count):
        driver.wait()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        driver.wait()
        return (time.perf_counter() - begin) / count
    one = min(round_of(1), round_of(1))
    count = max(1, min(2000, int(SECONDS / one)))
    rounds = [round_of(count) for _ in range(ROUNDS)]
    return min(rounds), statistics.median(rounds)


def distance(wanted, made):
    """In parts of the largest element; infinity for a NaN."""
    wanted, made = wanted.astype(np.float64), made.astype(np.float64)
    off = float(np.abs(wanted - made).max(initial=0)) / max(float(np.abs(wanted).max(initial=0)), LARGE)
    return off if off == off else float("inf")


def unpacked(folder, into):
    """The folder with what is compressed in it as it was."""
    for name in os.listdir(folder):
        source, target = os.path.join(folder, name), os.path.join(into, name.removesuffix(".xz"))
        if name.endswith(".xz"):
            with lzma.open(source) as f, open(target, "wb") as out:
                out.write(f.read())
        elif os.path.isfile(source):
            os.symlink(os.path.abspath(source), target)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("folder")
    p.add_argument("--json")
    p.add_argument("--no-times", action="store_true")
    p.add_argument("--only", default="", help="models whose name has this")
    p.add_argument("--sizes", default="", help="some sizes alone, as 2x5,1x16")
    o = p.parse_args()
    driver, rows, wrong = Driver(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        unpacked(o.folder, folder)
        with open(os.path.join(folder, "models.json"), encoding="utf-8") as f:
            models = json.load(f)
        for m in (m for m in models if o.only in m["name"]):
            arrays = np.load(os.path.join(folder, f"{m['arrays']}.npz"))
            model = Model(folder, m["name"], driver)
            for i, sizes in enumerate(m["cases"]):
                if o.sizes and "x".join(map(str, sizes.values())) not in o.sizes.split(","):
                    continue
                inputs = [np.ascontiguousarray(arrays[f"{i}_in{n}"]) for n in range(len(model.report["inputs"]))]
                wanted = [arrays[f"{i}_out{n}"] for n in range(len(model.report["outputs"]))]
                call, places, free = model.prepare(sizes, inputs, wanted)
                call()
                driver.wait()
                off = max(distance(w, driver.read(p, np.empty_like(w))) for w, p in zip(wanted, places))
                right = off <= MOST_OFF[model.report["type"]]
                wrong += not right
                row = {"model": m["name"], "type": model.report["type"], "sizes": sizes, "off": off, "right": right, "calls": model.report["calls"]}
                if not o.no_times:
                    row["stream"] = seconds_of(driver, call)
                    graph = graph_of(driver, call)
                    if graph:
                        row["graph"] = seconds_of(driver, graph)
                        right = distance(wanted[0], driver.read(places[0], np.empty_like(wanted[0]))) <= MOST_OFF[model.report["type"]]
                        wrong += not right
                rows.append(row)
                times = "".join(f"  {w} {1e3 * row[w][0]:8.4f} ms (median {1e3 * row[w][1]:.4f})" for w in ("stream", "graph") if w in row)
                print(f"{m['name']:12} {'x'.join(map(str, sizes.values())):14} off {off:.1e} {'' if right else 'WRONG'}{times}", flush=True)
                free()
    if o.json:
        with open(o.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
    print(f"{len(rows)} calls compared, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

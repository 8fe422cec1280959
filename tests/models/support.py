"""What the tests of `halyard compile` share: runs of the command, and compiled models that are called from Python."""

import ctypes
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

BUILD = pathlib.Path(os.environ["HALYARD_BUILD"])
COMMAND = BUILD / "bin/halyard"
RUNTIME = BUILD / "lib/libhalyard_runtime.a"


def halyard(*arguments, environment=None):
    return subprocess.run([str(COMMAND), *map(str, arguments)], capture_output=True, text=True, check=False,
                          env={**os.environ, **(environment or {})})


def folder():
    return tempfile.TemporaryDirectory(prefix="halyard-models-")


def save(path, nodes, inputs, outputs, initializers=(), opset=17):
    """A model of nodes; `inputs` and `outputs` are (name, type, shape)."""
    def infos(values):
        return [helper.make_tensor_value_info(n, t, s) for n, t, s in values]
    constants = [onnx.numpy_helper.from_array(a, n) for n, a in initializers]
    graph = helper.make_graph(list(nodes), "test", infos(inputs), infos(outputs), constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return str(path)


FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


STRICT = ctypes.CDLL(str(BUILD / "tests/models/libmodels_strict_memory.so"))
STRICT.models_allocate.restype = ctypes.c_void_p
UNSTORED = 0x7fd5  # what its memory is full of: NaN as a float of 16 and 32 bits, and no index


class Memory:
    """Bytes between pages that nobody may touch, which end at the second one but for less than 128 bytes."""

    def __init__(self, size):
        self.size = size
        self.at = STRICT.models_allocate(None, ctypes.c_size_t(size))
        assert self.at, f"no memory for {size} bytes"

    def __del__(self):
        STRICT.models_release(None, ctypes.c_void_p(self.at))

    def bytes(self, begin=0, end=None):
        end = self.size if end is None else end
        return np.frombuffer((ctypes.c_uint8 * (end - begin)).from_address(self.at + begin), np.uint8)

    def array(self, shape, dtype):
        return np.frombuffer((ctypes.c_uint8 * self.size).from_address(self.at), dtype).reshape(shape)


class Model:
    """A compiled model: its library is linked as shared object, and its functions are called as a C program does."""

    def __init__(self, directory, name):
        self.name, directory = name, pathlib.Path(directory)
        self.report = json.loads((directory / f"{name}.json").read_text())
        path = directory / f"{name}-{len(os.listdir(directory))}.so"
        subprocess.run(["c++", "-shared", "-o", path, "-Wl,--whole-archive", directory / f"lib{name}.a", "-Wl,--no-whole-archive", RUNTIME,
                        "-lpthread", "-ldl", "-lm"], check=True)
        self.library = ctypes.CDLL(str(path))
        self.library.halyard_last_error.restype = ctypes.c_char_p
        self.library.halide_set_custom_malloc(STRICT.models_allocate)
        self.library.halide_set_custom_free(STRICT.models_release)
        self.model = ctypes.c_void_p()
        self.check(self.function("load")(str(directory / f"{name}.weights").encode(), ctypes.byref(self.model)))

    def function(self, what):
        return getattr(self.library, f"{self.name}_{what}")

    def check(self, code):
        if code != 0:
            raise RuntimeError(self.library.halyard_last_error().decode())

    def shape(self, array, sizes):
        names = {"div": lambda a, b: a // b, "max": max, "min": min, **sizes}
        return [int(eval(s, {"__builtins__": {}}, names)) for s in array["shape"]]

    def measured(self, **sizes):
        """The sizes as a call takes them, and the bytes that it needs."""
        dimensions = [d["name"] for d in self.report["dimensions"]] or ["none"]
        given = (ctypes.c_int32 * len(dimensions))(*[sizes.get(d, 0) for d in dimensions])
        needed = (ctypes.c_size_t * (len(self.report["inputs"] + self.report["outputs"]) + 1))()
        self.check(self.function("measure")(given, needed))
        return given, needed

    def __call__(self, inputs, **sizes):
        arrays = self.report["inputs"] + self.report["outputs"]
        given, needed = self.measured(**sizes)
        kept, outputs, memory = [], [], []
        for a, size in zip(arrays, list(needed)[1:]):
            is_input = len(kept) < len(self.report["inputs"])
            given_array = np.ascontiguousarray(inputs[a["name"]]) if is_input else np.empty(self.shape(a, sizes), a["type"])
            assert given_array.nbytes == size, (given_array.shape, given_array.nbytes, size)
            memory.append(Memory(size))
            array = memory[-1].array(given_array.shape, given_array.dtype)
            if is_input:
                array[...] = given_array
            (kept if is_input else outputs).append(array)
        workspace = Memory(needed[0])
        pointers = (ctypes.c_void_p * len(arrays))(*[m.at for m in memory])
        self.check(self.function("run")(self.model, given, pointers, ctypes.c_void_p(workspace.at)))
        for a, m in zip(["the workspace", *[a["name"] for a in arrays]], [workspace, *memory]):
            beyond = Memory.bytes(m, m.size, m.size + -m.size % 128)
            assert (beyond[beyond.size % 2:].view(np.uint16) == UNSTORED).all(), f"it wrote behind {a}"
        outputs = [np.array(o) for o in outputs]
        return outputs


def full_of_nothing(shape, dtype):
    """An array in which nothing was stored."""
    made = np.empty(shape, dtype)
    made.reshape(-1).view(np.uint8)[...] = np.resize(np.array([UNSTORED], np.uint16).view(np.uint8), made.nbytes)
    return made


class Dimension(ctypes.Structure):
    _fields_ = [("min", ctypes.c_int32), ("extent", ctypes.c_int32), ("stride", ctypes.c_int32), ("flags", ctypes.c_uint32)]


class Bytes(ctypes.Structure):
    """A halide_buffer_t over the bytes of an array, of which there is a copy on the device."""

    _fields_ = [("device", ctypes.c_uint64), ("interface", ctypes.c_void_p), ("host", ctypes.c_void_p), ("flags", ctypes.c_uint64),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("dimensions", ctypes.c_int32),
                ("dim", ctypes.c_void_p), ("padding", ctypes.c_void_p)]
    HOST_DIRTY, DEVICE_DIRTY = 1, 2

    def __init__(self, array):
        self.array, self.extent = array, Dimension(0, array.nbytes, 1, 0)
        super().__init__(0, None, array.ctypes.data, self.HOST_DIRTY, 1, 8, 1, 1, ctypes.addressof(self.extent), None)


class DeviceModel(Model):
    """A model that was compiled for CUDA, on the emulator: its arrays and its workspace are memory of the device."""

    def __init__(self, directory, name):
        driver = str(BUILD / "tests/emulator/libcuda.so.1")
        os.environ["HALYARD_CUDA_DRIVER"] = driver
        self.driver = ctypes.CDLL(driver)
        super().__init__(directory, name)
        self.library.halide_cuda_device_interface.restype = ctypes.c_void_p
        self.cuda = ctypes.c_void_p(self.library.halide_cuda_device_interface())

    def run(self, places, **sizes):
        """By the addresses of inputs, outputs and workspace; what is missing is null."""
        given, _ = self.measured(**sizes)
        names = [a["name"] for a in self.report["inputs"] + self.report["outputs"]]
        pointers = (ctypes.c_void_p * len(names))(*[places.get(n, places.get("workspace")) for n in names])
        before = self.count("allocated"), self.count("pushed")
        self.check(self.function("run")(self.model, given, pointers, ctypes.c_void_p(places.get("workspace", 64))))
        assert before == (self.count("allocated"), self.count("pushed")), "a call allocates, or leaves its context behind"

    def count(self, what):
        return self.driver.halyard_emulator_count(what.encode())

    def __call__(self, inputs, run=None, **sizes):
        _, needed = self.measured(**sizes)
        arrays = {a["name"]: np.ascontiguousarray(inputs[a["name"]]) for a in self.report["inputs"]}
        outputs = {a["name"]: full_of_nothing(self.shape(a, sizes), a["type"]) for a in self.report["outputs"]}
        arrays.update({**outputs, "workspace": full_of_nothing([max(needed[0] + needed[0] % 2, 2)], "uint8")})
        placed = {n: Bytes(a) for n, a in arrays.items()}
        for b in placed.values():
            self.check(self.library.halide_device_malloc(None, ctypes.byref(b), self.cuda))
            self.check(self.library.halide_copy_to_device(None, ctypes.byref(b), self.cuda))
        (run or self.run)({n: b.device for n, b in placed.items()}, **sizes)
        for n in outputs:
            placed[n].flags = Bytes.DEVICE_DIRTY
            self.check(self.library.halide_copy_to_host(None, ctypes.byref(placed[n])))
        for b in placed.values():
            self.check(self.library.halide_device_free(None, ctypes.byref(b)))
        return list(outputs.values())

    def capture(self, inputs, **sizes):
        """A call into a CUDA graph, on a stream of its own: what waits or copies is an error there."""
        def captured(places, **sizes):
            context, stream, graph = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
            driver = self.driver
            assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and driver.cuCtxPushCurrent_v2(context) == 0
            assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0 and driver.cuCtxPopCurrent_v2(ctypes.byref(context)) == 0
            self.library.halyard_cuda_set_stream(stream)
            assert driver.cuStreamBeginCapture_v2(stream, 0) == 0
            try:
                self.run(places, **sizes)
            finally:
                ended = driver.cuStreamEndCapture(stream, ctypes.byref(graph))
                self.library.halyard_cuda_set_stream(None)
            assert ended == 0, ended
        self(inputs, run=captured, **sizes)

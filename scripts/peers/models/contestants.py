"""Ours and the peers: each a name, sample(first, calls) for peers.measure, and run(), whose outputs are compared."""

import ctypes
import json
import os
import subprocess
import time

import numpy as np

from .. import library


class Contestant:
    def sample(self, first, calls):
        begin = time.perf_counter()
        for _ in range(calls):
            self.call()
        return time.perf_counter() - begin


class Halyard(Contestant):
    """The shared object that `halyard compile --shared` wrote, called as a C program does."""

    name = "halyard"

    def __init__(self, folder, name, sizes, threads):
        with open(os.path.join(folder, f"{name}.json"), encoding="utf-8") as f:
            self.report = json.load(f)
        self.prefix, self.sizes = name, sizes
        ctypes.CDLL(os.path.join(library.BUILD, "lib/halyard/libhalyard_runtime.so.0"), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(os.path.join(folder, f"{name}.so"))
        self.library.halyard_last_error.restype = ctypes.c_char_p
        self.library.halide_set_num_threads(threads)
        self.model = ctypes.c_void_p()
        self.check(self.function("load")(os.path.join(folder, f"{name}.weights").encode(), ctypes.byref(self.model)))
        dimensions = [d["name"] for d in self.report["dimensions"]]
        self.given = (ctypes.c_int32 * max(len(dimensions), 1))(*[sizes[d] for d in dimensions])
        arrays = self.report["inputs"] + self.report["outputs"]
        needed = (ctypes.c_size_t * (len(arrays) + 1))()
        self.check(self.function("measure")(self.given, needed))
        self.arrays = [np.zeros(self.shape(a), a["type"]) for a in arrays]
        self.workspace = np.zeros(needed[0] + 64, np.uint8)
        self.begin = ctypes.c_void_p((self.workspace.ctypes.data + 63) // 64 * 64)
        self.pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in self.arrays])
        self.called = self.function("run")

    def function(self, what):
        return getattr(self.library, f"{self.prefix}_{what}")

    def check(self, code):
        if code != 0:
            raise library.Failure(self.library.halyard_last_error().decode())

    def value(self, text):
        return int(eval(text, {"__builtins__": {}}, {"div": lambda a, b: a // b, "max": max, "min": min, **self.sizes}))

    def shape(self, array):
        return [self.value(s) for s in array["shape"]]

    def operations(self):
        return sum(self.value(g["operations"]) for g in self.report["groups"])

    def inputs(self):
        """Some for every contestant, by place: of words below 1000 where they are whole numbers, and ones for a mask."""
        made = []
        for i, a in enumerate(self.report["inputs"]):
            rng = np.random.default_rng(i)
            x = rng.standard_normal(self.shape(a)) if a["type"].startswith("float") else rng.integers(0, 1000, self.shape(a))
            if "mask" in a["name"]:
                x = np.ones(self.shape(a))
            if a["name"] == "sr":
                x = np.full(self.shape(a), 16000)
            self.arrays[i][...] = x.astype(a["type"])
            made.append(self.arrays[i])
        return made

    def call(self):
        self.called(self.model, self.given, self.pointers, self.begin)

    def run(self):
        self.check(self.called(self.model, self.given, self.pointers, self.begin))
        return self.arrays[len(self.report["inputs"]):]


class Onnxruntime(Contestant):
    name = "onnxruntime"

    def __init__(self, path, feed, threads):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.feed = dict(zip([i.name for i in self.session.get_inputs()], feed))

    def call(self):
        return self.session.run(None, self.feed)

    def run(self):
        return self.call()


class OpenVINO(Contestant):
    name = "OpenVINO"

    def __init__(self, path, feed, threads):
        import openvino
        core = openvino.Core()
        model = core.read_model(path)
        model.reshape({p: list(x.shape) for p, x in zip(model.inputs, feed)})  # sizes are known to it
        # Its default is bf16 where the processor has it.
        self.request = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32",
                                                         "PERFORMANCE_HINT": "LATENCY"}).create_infer_request()
        for i, x in enumerate(feed):
            self.request.set_input_tensor(i, openvino.Tensor(x, shared_memory=True))
        self.outputs = len(model.outputs)

    def call(self):
        self.request.infer()

    def run(self):
        self.call()
        return [np.array(self.request.get_output_tensor(i).data) for i in range(self.outputs)]


class Torch(Contestant):
    """What onnx2torch makes of the file, compiled."""

    name = "torch.compile"

    def __init__(self, path, feed, threads):
        import onnx2torch
        import torch
        torch.set_num_threads(threads)
        self.torch = torch
        self.feed = [torch.from_numpy(x) for x in feed]
        plain = onnx2torch.convert(with_initializers(path)).eval()
        # What of the converted graph its compiler cannot take runs as it is.
        torch._dynamo.config.suppress_errors = True
        # A size that a call has for the first time is known to the code.
        self.model = torch.compile(plain, dynamic=False)
        with torch.inference_mode():
            self.model(*self.feed)

    def call(self):
        with self.torch.inference_mode():
            return self.model(*self.feed)

    def run(self):
        made = self.call()
        return [x.numpy() for x in (made if isinstance(made, (list, tuple)) else [made])]


def with_initializers(path):
    """The model with its Constant nodes as initializers, as onnx2torch looks for weights there, in the opset 13 where it is older."""
    import onnx
    model = onnx.load(path)
    rest = []
    for node in model.graph.node:
        tensor = next((a.t for a in node.attribute if a.name == "value"), None) if node.op_type == "Constant" else None
        if tensor is None:
            rest.append(node)
        else:
            made = model.graph.initializer.add()
            made.CopyFrom(tensor)
            made.name = node.output[0]
    del model.graph.node[:]
    model.graph.node.extend(rest)
    if model.opset_import[0].version < 13:
        model = onnx.version_converter.convert_version(model, 13)
    return model


PEERS = (Onnxruntime, OpenVINO, Torch)


def compiled(path, folder, name, target="host"):
    """What `halyard compile` writes. Throws library.Failure."""
    done = subprocess.run([os.path.join(library.BUILD, "bin/halyard"), "compile", path, "-o", folder, "--name", name, "--shared", "--quiet",
                           "--target", target], capture_output=True, text=True, check=False)
    if done.returncode:
        raise library.Failure(done.stderr.strip())

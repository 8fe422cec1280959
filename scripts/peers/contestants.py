"""Who takes part in a row: Halyard's schedules, and each peer that is installed and has the op.

make_peers(case) gives contestants for measure.py that also have results(): what set 0 gives, as
tensors. A peer that cannot do a row raises; the row then has a note, not an error.
"""

import ctypes
import functools
import io
import time

from . import library
from .entry import arguments_of, call_by_name, dims_of
from .frameworks import torch

if torch:
    DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64,
              "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
              "u16": torch.uint16, "u32": torch.uint32}


class Unavailable(Exception):
    """A peer that is not installed, or has no such op: a note."""


def tensor(item):
    """A view of a buffer of Halyard's: no copy, last index innermost."""
    dtype, extents, strides = DTYPES[item["type"]], item["extents"][::-1], item["strides"][::-1]
    count = 1 + sum((e - 1) * s for e, s in zip(extents, strides)) if all(extents) else 0
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(item["address"])
    return torch.frombuffer(memory, dtype=dtype).as_strided(extents, strides) if count else torch.empty(extents, dtype=dtype)


class Ours:
    def __init__(self, kernel, sets):
        self.name, self.kernel, self.sets = kernel.schedule, kernel, sets

    def sample(self, first, calls):
        return library.time_calls(self.kernel, self.sets, first, calls)


class Calls:
    """A peer as Python functions, one a set of arguments. Results are kept until their turn comes
    again, so that a peer that allocates them does not write to the same hot block each time."""

    def __init__(self, name, calls, results=None):
        self.name, self.calls, self.kept = name, calls, [None] * len(calls)
        self.results = results or (lambda: as_list(calls[0]()))

    def sample(self, first, n):
        calls, kept = self.calls, self.kept
        count = len(calls)
        if count == 1:
            call = calls[0]
            begin = time.perf_counter()
            for _ in range(n):
                call()
            return time.perf_counter() - begin
        begin = time.perf_counter()
        for i in range(first, first + n):
            i %= count
            kept[i] = calls[i]()
        return time.perf_counter() - begin


class Case:
    """One row: its entry, size, type, threads, and the values of each set of arguments by name."""

    def __init__(self, entry, shape, kind, threads, sets):
        self.entry, self.shape, self.type, self.threads = entry, shape, kind, threads
        self.dims = dims_of(shape)
        self.sets = [self._values(s) for s in sets]
        self.outputs = [i["name"] for i in sets[0].items if i["output"]]
        self.constants = set(entry.constants.split())

    def _values(self, arguments):
        values = dict(arguments.kernel.params)
        values.update({i["name"]: tensor(i) if i["buffer"] else i["value"] for i in arguments.items})
        # Last: a scalar argument that repeats a dimension is a float.
        values.update({**self.dims, "type": self.type, "dtype": DTYPES.get(self.type)})
        if self.entry.prepare:
            values.update(self.entry.prepare(values))
        return values

    def results(self):
        values = self.sets[0]
        if self.entry.results:
            return as_list(call_by_name(self.entry.results, values))
        return [values[o] for o in self.outputs]


def as_list(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


# ---- torch --------------------------------------------------------------------------------

def eager(case, name, function):
    calls = []
    for values in case.sets:
        calls.append(functools.partial(function, **arguments_of(function, values)))
    return Calls(name, calls)


def as_module(case, function):
    """The function with its constants as parameters, so that compilers may pack and fold them; and
    the names of its other tensors, in order."""
    values = case.sets[0]
    names = list(arguments_of(function, values))
    variable = [n for n in names if torch.is_tensor(values[n]) and n not in case.constants]

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fixed = {n: values[n] for n in names if not torch.is_tensor(values[n])}
            for n in names:
                if n in case.constants and torch.is_tensor(values[n]):
                    self.register_parameter("c_" + n, torch.nn.Parameter(values[n], requires_grad=False))
            self.constant = [n for n in names if n in case.constants and torch.is_tensor(values[n])]

        def forward(self, *inputs):
            given = dict(zip(variable, inputs))
            given.update({n: getattr(self, "c_" + n) for n in self.constant})
            return function(**given, **self.fixed)
    return Module().eval(), variable


def compiled(case):
    import torch._inductor.config as config
    config.freezing = True  # weights become constants, packed ahead of the calls
    torch._dynamo.reset()
    module, variable = as_module(case, case.entry.torch)
    run = torch.compile(module, dynamic=False)
    inputs = [[values[n] for n in variable] for values in case.sets]
    run(*inputs[0])  # compiles
    return Calls("torch.compile", [functools.partial(run, *i) for i in inputs])


# ---- onnxruntime --------------------------------------------------------------------------

def onnx_model(case):
    import onnx
    if case.entry.onnx is not True:
        return onnx_from_nodes(case, onnx)
    module, variable = as_module(case, case.entry.spelled or case.entry.torch)
    out = io.BytesIO()
    # dynamo=False: the exporter that needs no onnxscript
    torch.onnx.export(module, tuple(case.sets[0][n] for n in variable), out, input_names=variable,
                      opset_version=17, dynamo=False)
    return out.getvalue(), variable


def onnx_from_nodes(case, onnx):
    """entry.onnx gives entry.nodes(); arguments are inputs or constants of the graph."""
    values = case.sets[0]
    nodes, extra = call_by_name(case.entry.onnx, values)
    kinds = {torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.int32: 6, torch.int64: 7, torch.float16: 10,
             torch.bfloat16: 16, torch.bool: 9}
    made = {o for n in nodes for o in n[2]}
    used = [i for i in dict.fromkeys(i for n in nodes for i in n[1]) if i and i not in made]
    variable = [n for n in used if n in values and n not in case.constants and n not in extra]
    initial = []
    for name in used:
        if name not in variable:
            t = extra[name] if name in extra else values[name]
            initial.append(onnx.helper.make_tensor(name, kinds[t.dtype], list(t.shape),
                                                   t.contiguous().view(torch.uint8).numpy().tobytes(), raw=True))
    results = case.results()
    outputs = [onnx.helper.make_tensor_value_info(f"result{i}", kinds[r.dtype], list(r.shape))
               for i, r in enumerate(results)]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(n[0], n[1], n[2], domain=n[4] if len(n) > 4 else "", **n[3]) for n in nodes], "row",
        [onnx.helper.make_tensor_value_info(n, kinds[values[n].dtype], list(values[n].shape)) for n in variable],
        outputs, initial)
    model = onnx.helper.make_model(graph, ir_version=10, opset_imports=[
        onnx.helper.make_opsetid("", 23), onnx.helper.make_opsetid("com.microsoft", 1)])
    return model.SerializeToString(), variable


def onnxruntime(case):
    try:
        import onnxruntime as ort
    except ImportError as e:
        raise Unavailable("onnxruntime is not installed: scripts/setup --peers") from e
    ort.disable_telemetry_events()
    ort.set_default_logger_severity(4)
    import numpy
    model, variable = onnx_model(case)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = case.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Threads spin inside a call, where it is faster, and not after it, where others run.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    kinds = {torch.float32: numpy.float32, torch.float16: numpy.float16, torch.int8: numpy.int8,
             torch.uint8: numpy.uint8, torch.int32: numpy.int32, torch.int64: numpy.int64, torch.bool: numpy.bool_}
    calls, results = [], []
    for values in case.sets:
        binding = session.io_binding()
        for n in variable:
            t = values[n].contiguous()
            binding.bind_input(n, "cpu", 0, kinds[t.dtype], list(t.shape), t.data_ptr())
            results.append(t)
        outputs = []
        for o, r in zip(session.get_outputs(), case.results()):
            kept = torch.empty(r.shape, dtype=r.dtype)
            if o.type == "tensor(int64)":
                kept = kept.to(torch.int64)
            binding.bind_output(o.name, "cpu", 0, kinds[kept.dtype], list(kept.shape), kept.data_ptr())
            outputs.append(kept)
        results.append(outputs)
        calls.append(functools.partial(session.run_with_iobinding, binding))
    first = next(r for r in results if isinstance(r, list))
    peer = Calls("onnxruntime", calls, lambda: (calls[0](), first)[1])
    peer.alive = (session, results)
    return peer


# ---- all of them --------------------------------------------------------------------------

def from_module(case, name, function):
    """A peer that gives a function to call for each set, and its result tensors, or a function that
    gets them out of an order of its own."""
    made = [call_by_name(function, values) for values in case.sets]

    def results():
        call, result = made[0]
        call()
        return as_list(result() if callable(result) else result)
    return Calls(name, [m[0] for m in made], results)


def makers(case, wanted):
    """(name, function that makes the contestant) for each peer that has the op."""
    entry = case.entry
    all_ = []
    if entry.torch:
        all_.append(("torch", lambda: eager(case, "torch", entry.torch)))
        if entry.compiled:
            all_.append(("torch.compile", lambda: compiled(case)))
    for name, function in entry.more.items():
        all_.append((name, lambda name=name, function=function: eager(case, name, function)))
    if entry.onnx and (entry.torch or entry.onnx is not True) and case.type in ("f32", "int8"):
        all_.append(("onnxruntime", lambda: onnxruntime(case)))
    if entry.onednn:
        all_.append(("oneDNN", lambda: from_module(case, "oneDNN", entry.onednn)))
    for name, function in entry.native.items():
        all_.append((name, lambda name=name, function=function: from_module(case, name, function)))
    if entry.openblas and case.type == "f32":
        all_.append(("OpenBLAS", lambda: from_module(case, "OpenBLAS", entry.openblas)))
    return [(n, f) for n, f in all_ if not wanted or any(n == w or n.startswith((w + " ", w + ",")) for w in wanted)]


TOLERANCE = {"f32": 1e-4, "f16": 4e-3, "bf16": 3e-2, "int8": 2e-2}


def difference(ours, theirs):
    """Why two lists of results are not the same numbers, or None: the greatest relative distance."""
    if len(ours) != len(theirs):
        return f"{len(theirs)} results instead of {len(ours)}", 0
    worst = 0
    for o, t in zip(ours, theirs):
        if o.numel() != t.numel():
            return f"a result of {list(t.shape)} instead of {list(o.shape)}", 0
        a, b = o.reshape(-1).to(torch.float64), t.detach().reshape(-1).to(torch.float64)
        finite = torch.isfinite(a)
        if not torch.equal(finite, torch.isfinite(b)):
            return "other elements are finite", 0
        a, b = a[finite], b[finite]
        worst = max(worst, float((a - b).norm() / max(float(a.norm()), 1e-30)))
    return None, worst

"""Halyard's side: kernels, their arguments and their times, through build/lib/libhalyard_peers.so."""

import ctypes
import json
import os

BESIDE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # scripts, or the folder of an export
EXPORTED = os.path.exists(os.path.join(BESIDE, "kernels.json"))
ROOT = BESIDE if EXPORTED else os.path.dirname(BESIDE)
if EXPORTED:
    os.environ["HALYARD_ROOT"] = ROOT
BUILD = os.environ.get("HALYARD_ROOT", os.path.join(ROOT, "build"))


class Failure(Exception):
    """What a user reads: the message of the library."""


def _load():
    native = ctypes.CDLL(os.path.join(BUILD, "lib", "libhalyard_peers.so"))
    p, s, i, d = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_double
    for name, result, arguments in (
            ("error", s, []), ("registry", s, []), ("machine", s, [i, i]), ("multiply_peak", d, [s, i]),
            ("kernel", p, [s]), ("export_kernel", s, [s, s, s]), ("load_kernel", p, [s, s]), ("describe_kernel", s, [p]), ("free_kernel", None, [p]), ("set_threads", None, [p, i]), ("set_verbose", None, [p, i]),
            ("flops", d, [s, s]), ("arguments", p, [p, s, s, s, ctypes.c_uint64]), ("free_arguments", None, [p]),
            ("describe_arguments", s, [p, p]), ("time", d, [p, ctypes.POINTER(p), i, i, i])):
        f = getattr(native, "peers_" + name)
        f.restype, f.argtypes = result, arguments
    return native


_native = None


def _call(name, *arguments):
    global _native
    _native = _native or _load()
    result = getattr(_native, "peers_" + name)(*arguments)
    if result is None or isinstance(result, float) and result < 0:
        raise Failure(_native.peers_error().decode())
    return result


def registry():
    return json.loads(_call("registry"))


def machine(threads):
    return json.loads(_call("machine", threads, 0))


def multiply_peak(kind, threads):
    return _call("multiply_peak", kind.encode(), threads)


def flops(op, shape):
    return _call("flops", op.encode(), shape.encode())


def request_text(op, schedule, params, settings=None):
    text = lambda d: {k: str(v) for k, v in (d or {}).items()}
    return json.dumps({"op": op, "schedule": schedule or "", "params": text(params), "set": text(settings)}, sort_keys=True)


def read_exported(folder):
    """{request: what load_kernel wants to know, and its file}"""
    path = os.path.join(folder, "kernels.json")
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        return {k["request"]: k for k in json.load(f)}


def write_exported(folder, index):
    with open(os.path.join(folder, "kernels.json"), "w") as f:
        json.dump([{**about, "request": request} for request, about in index.items()], f, indent=1)


def export_kernel(request, target, path):
    return json.loads(_call("export_kernel", request.encode(), target.encode(), path.encode()))


def _load_exported(request):
    about = read_exported(ROOT).get(request)
    if not about:
        raise Failure(f"{request} is not among the kernels of this export; scripts/bench --export adds it")
    return _call("load_kernel", os.path.join(ROOT, "kernels", about["file"]).encode(), json.dumps(about).encode())


class Kernel:
    def __init__(self, op, schedule, params, settings=None):
        self.op = op
        request = request_text(op, schedule, params, settings)
        self.handle = _load_exported(request) if EXPORTED else _call("kernel", request.encode())
        about = json.loads(_call("describe_kernel", self.handle))
        self.schedule, self.target = about["schedule"], about["target"]
        self.params, self.type = about["params"], about["type"]

    def set_threads(self, threads):
        _native.peers_set_threads(self.handle, threads)

    def set_verbose(self, on):
        _native.peers_set_verbose(self.handle, on)

    def __del__(self):
        if getattr(self, "handle", None):
            _native.peers_free_kernel(self.handle)


class Arguments:
    """One set of buffers and scalars; `items` has a record for each. `strides`: of buffers that are not dense, innermost first."""

    def __init__(self, kernel, shape, seed=1, strides=None):
        self.kernel = kernel
        self.handle = _call("arguments", kernel.handle, kernel.op.encode(), shape.encode(), json.dumps(strides or {}).encode(), seed)
        self.items = json.loads(_call("describe_arguments", kernel.handle, self.handle))

    @property
    def bytes(self):
        return sum(a.get("bytes", 0) for a in self.items)

    def __del__(self):
        if getattr(self, "handle", None):
            _native.peers_free_arguments(self.handle)


def time_calls(kernel, sets, first, calls):
    handles = (ctypes.c_void_p * len(sets))(*[s.handle for s in sets])
    return _call("time", kernel.handle, handles, len(sets), first % len(sets), calls)

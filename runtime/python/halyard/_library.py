"""Libraries of ops: built by the command into its cache, loaded over one runtime."""

import ctypes
import functools
import json
import os

from . import _arrays, _native
from ._command import ROOT, Error, op_name, run

_native.set_up(Error, _arrays.ADAPTERS, _arrays.adapter)
_native.load_runtime(str(ROOT / "lib" / "halyard" / "libhalyard_runtime.so.0"))


def ops():
    """The names of all ops, with a sentence about each."""
    return {record["op"]: record["summary"] for record in json.loads(run("list", "--json"))}


def set_num_threads(n):
    """Threads of all libraries together; 0 takes all processors. Returns the number before."""
    return _native.set_num_threads(n)


@functools.cache
def architecture():
    """Of this machine's first CUDA device, as sm_90a; None where there is none."""
    try:
        cuda = ctypes.CDLL(os.environ.get("HALYARD_CUDA_DRIVER") or "libcuda.so.1")
    except OSError:
        return None
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), 0):
        return None
    for attribute, value in ((75, major), (76, minor)):
        if cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device):
            return None
    return f"sm_{major.value}{minor.value}" + ("a" if major.value >= 9 else "")


def find_library(name, words):
    """The record of an op's library, which is built where the cache does not have it."""
    return json.loads(run("library", op_name(name), "--json", *words))

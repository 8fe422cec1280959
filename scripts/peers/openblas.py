"""OpenBLAS: the one that numpy's wheel carries, by ctypes."""

import ctypes
import functools
import glob
import os

from .frameworks import torch


@functools.lru_cache(None)
def library():
    from .contestants import Unavailable
    try:
        import numpy
    except ImportError as e:
        raise Unavailable("OpenBLAS is not installed: scripts/setup --peers") from e
    found = glob.glob(os.path.join(os.path.dirname(numpy.__file__), "..", "numpy.libs", "libscipy_openblas64_*.so"))
    if not found:
        raise Unavailable("numpy's wheel carries no OpenBLAS here")
    return ctypes.CDLL(found[0])


def set_threads(threads):
    try:
        library().scipy_openblas_set_num_threads64_(threads)
    except Exception:
        pass


def gemm(a, b, transposed=False):
    """a b, or a b^T: (call, result)."""
    (m, k), n = a.shape, b.shape[0 if transposed else 1]
    y = torch.empty(m, n)
    f, i, one = library().scipy_cblas_sgemm64_, ctypes.c_int64, ctypes.c_float
    call = functools.partial(f, 101, 111, 112 if transposed else 111, i(m), i(n), i(k), one(1),
                             ctypes.c_void_p(a.data_ptr()), i(k), ctypes.c_void_p(b.data_ptr()),
                             i(k if transposed else n), one(0), ctypes.c_void_p(y.data_ptr()), i(n))
    call.kept = (a, b, y)
    return call, y

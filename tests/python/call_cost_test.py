"""What a call costs on the host besides the work of the library: an array of eight numbers leaves nothing else.

Run by hand, it prints the table of docs/notes/2026-11-python.md.
"""

import ctypes
import timeit
import unittest

import numpy as np

import halyard

MOST = 5.0  # microseconds, on a machine that has nothing else to do
OFTEN = 4   # or so many times an addition of the arrays' own library, which takes its time where others work too


def microseconds(call, number=5000):
    return min(timeit.repeat(call, number=number, repeat=7)) / number * 1e6


class HalideBuffer(ctypes.Structure):
    _fields_ = [("device", ctypes.c_uint64), ("interface", ctypes.c_void_p), ("host", ctypes.c_void_p), ("flags", ctypes.c_uint64),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("dimensions", ctypes.c_int32),
                ("dim", ctypes.c_void_p), ("padding", ctypes.c_void_p)]


def by_ctypes(op):
    """The same call in Python alone, as short as it can be: no checks, and arrays of numpy only."""
    function = ctypes.CDLL(op.path)[f"{op.name}_argv"]

    def buffer(a):
        n = a.ndim
        dims = (ctypes.c_int32 * (4 * n))()
        for d in range(n):
            dims[4 * d + 1], dims[4 * d + 2] = a.shape[n - 1 - d], a.strides[n - 1 - d] // a.itemsize
        return HalideBuffer(0, None, a.ctypes.data, 0, 2, 32, 1, n, ctypes.addressof(dims), None), dims

    def call(x, weight, eps):
        y = np.empty_like(x)
        buffers = [buffer(a) for a in (x, weight, y)]
        number = ctypes.c_float(eps)
        arguments = (ctypes.c_void_p * 4)(ctypes.addressof(buffers[0][0]), ctypes.addressof(buffers[1][0]), ctypes.addressof(number),
                                          ctypes.addressof(buffers[2][0]))
        if function(arguments):
            raise RuntimeError
        return y

    return call


class Cost(unittest.TestCase):
    def test_numpy(self):
        norm = halyard.op("rms_norm")
        x, w = np.ones((1, 8), np.float32), np.ones(8, np.float32)
        y = np.empty_like(x)
        plain = by_ctypes(norm)
        np.testing.assert_array_equal(plain(x, w, 1e-6), norm(x, w, eps=1e-6))
        times = {"a new array": microseconds(lambda: norm(x, w, eps=1e-6)),
                 "a given array": microseconds(lambda: norm(x, w, eps=1e-6, out=y))}
        print({k: round(v, 2) for k, v in times.items()}, "ctypes:", round(microseconds(lambda: plain(x, w, 1e-6)), 2))
        self.check(times, microseconds(lambda: np.add(x, w)))

    def check(self, times, addition):
        self.assertLess(max(times.values()), max(MOST, OFTEN * addition))

    def test_torch(self):
        try:
            import torch

            import halyard.torch
        except ImportError as e:
            self.skipTest(f"torch: {e}")
        norm, operator = halyard.op("rms_norm"), halyard.torch.op("rms_norm")
        x, w = torch.ones(1, 8), torch.ones(8)
        y = torch.empty_like(x)
        times = {"a new tensor": microseconds(lambda: norm(x, w, eps=1e-6)), "a given tensor": microseconds(lambda: norm(x, w, out=y))}
        print({k: round(v, 2) for k, v in times.items()}, "operator:", round(microseconds(lambda: operator(x, w, 1e-6)), 2))
        self.check(times, microseconds(lambda: torch.add(x, w)))


if __name__ == "__main__":
    unittest.main()

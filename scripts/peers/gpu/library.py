"""A CUDA library of Halyard's, called with torch's tensors: nothing is copied, and it runs on torch's stream."""

import ctypes

import torch


class Dimension(ctypes.Structure):
    _fields_ = [("min", ctypes.c_int32), ("extent", ctypes.c_int32), ("stride", ctypes.c_int32), ("flags", ctypes.c_uint32)]


class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Buffer(ctypes.Structure):
    _fields_ = [("device", ctypes.c_uint64), ("device_interface", ctypes.c_void_p), ("host", ctypes.c_void_p), ("flags", ctypes.c_uint64),
                ("type", Type), ("dimensions", ctypes.c_int32), ("dim", ctypes.POINTER(Dimension)), ("padding", ctypes.c_void_p)]


class Argument(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int32), ("dimensions", ctypes.c_int32), ("type", Type),
                ("defaults", ctypes.c_void_p * 5)]


class Metadata(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int32), ("count", ctypes.c_int32), ("arguments", ctypes.POINTER(Argument)),
                ("target", ctypes.c_char_p), ("name", ctypes.c_char_p)]


TYPES = {torch.float32: (2, 32), torch.float16: (2, 16), torch.bfloat16: (4, 16), torch.int32: (0, 32), torch.int8: (0, 8), torch.uint8: (1, 8),
         torch.float8_e4m3fn: (1, 8), torch.float8_e5m2: (1, 8)}


class Library:
    def __init__(self, path, function):
        self.native = ctypes.CDLL(path)
        metadata = getattr(self.native, function + "_metadata")
        metadata.restype = ctypes.POINTER(Metadata)
        m = metadata().contents
        self.arguments = [(m.arguments[i].name.decode(), m.arguments[i].kind, m.arguments[i].type.code, m.arguments[i].type.bits)
                          for i in range(m.count)]
        self.function = getattr(self.native, function + "_argv")
        self.native.halyard_last_error.restype = ctypes.c_char_p
        self.native.halyard_cuda_set_stream.argtypes = [ctypes.c_void_p]
        self.native.halyard_cuda_wrap.argtypes = [ctypes.POINTER(Buffer), ctypes.c_void_p]
        self.native.halyard_cuda_unwrap.argtypes = [ctypes.POINTER(Buffer)]

    def use_stream(self):
        """From now on it runs on what is torch's stream now."""
        self.native.halyard_cuda_set_stream(torch.cuda.current_stream().cuda_stream)

    def call(self, values):
        """A function of no arguments that calls the library with those tensors and numbers."""
        self.use_stream()
        addresses, keep = [], []
        for name, kind, code, _ in self.arguments:
            v = values[name]
            if kind == 0:
                number = (ctypes.c_float if code == 2 else ctypes.c_int32)(v)
                keep.append(number)
                addresses.append(ctypes.addressof(number))
                continue
            extents, strides = list(reversed(v.shape)), list(reversed(v.stride()))
            dims = (Dimension * max(len(extents), 1))(*[Dimension(0, e, s, 0) for e, s in zip(extents, strides)])
            b = Buffer(0, None, None, 0, Type(*TYPES[v.dtype], 1), len(extents), dims, None)
            self.check(self.native.halyard_cuda_wrap(ctypes.byref(b), v.data_ptr()))
            keep.extend([b, dims, v])
            addresses.append(ctypes.addressof(b))
        argv = (ctypes.c_void_p * len(addresses))(*addresses)

        def run(_keep=keep):
            self.check(self.function(argv))
        return run

    def check(self, code):
        if code:
            raise RuntimeError(f"{code}: {self.native.halyard_last_error().decode()}")

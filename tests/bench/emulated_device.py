"""The emulated GPU (tests/emulator) where a stress run has a card: tensors are torch's on the host, and a call copies them to and fro."""

import ctypes
import os
import threading

from peers.gpu.library import TYPES, Buffer, Dimension, Library, Type

INPUT, OUTPUT = 1, 2


class Driver:
    def __init__(self):
        self.native = ctypes.CDLL(os.environ["HALYARD_CUDA_DRIVER"])
        self.check(self.native.cuInit(0))
        self.context = ctypes.c_void_p()
        self.check(self.native.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), 0))
        self.use()

    def use(self):
        """By this thread."""
        self.check(self.native.cuCtxSetCurrent(self.context))

    @staticmethod
    def check(code):
        if code:
            raise RuntimeError(f"CUDA error {code}")

    def allocate(self, size):
        address = ctypes.c_uint64()
        self.check(self.native.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
        return address.value

    def free(self, address):
        self.check(self.native.cuMemFree_v2(ctypes.c_uint64(address)))

    def to_device(self, address, tensor, size):
        self.check(self.native.cuMemcpyHtoD_v2(ctypes.c_uint64(address), ctypes.c_void_p(tensor.data_ptr()), ctypes.c_size_t(size)))

    def to_host(self, tensor, address, size):
        self.check(self.native.cuMemcpyDtoH_v2(ctypes.c_void_p(tensor.data_ptr()), ctypes.c_uint64(address), ctypes.c_size_t(size)))

    def copy(self, to, address, size):
        self.check(self.native.cuMemcpyDtoDAsync_v2(ctypes.c_uint64(to), ctypes.c_uint64(address), ctypes.c_size_t(size), None))


class Traffic:
    """Threads that copy within the device's memory."""

    def __init__(self, driver, streams, size):
        self.driver, self.size, self.copies = driver, size, 0
        self.buffers = [[driver.allocate(size) for _ in range(2)] for _ in range(streams)]

    def __enter__(self):
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self._copy, args=pair, daemon=True) for pair in self.buffers]
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for t in self.threads:
            t.join()

    def _copy(self, a, b):
        self.driver.use()
        while not self.ended.wait(0.001):
            self.driver.copy(b, a, self.size)
            self.copies += 1


def span(tensor):
    """Bytes from its first element to its last."""
    return (1 + sum((e - 1) * s for e, s in zip(tensor.shape, tensor.stride()))) * tensor.element_size() if tensor.numel() else 1


class EmulatedLibrary(Library):
    def __init__(self, device, path, function):
        super().__init__(path, function)
        self.device = device

    def use_stream(self):
        pass

    def call(self, values):
        driver, addresses, keep, results = self.device.driver, [], [], []
        for name, kind, code, _ in self.arguments:
            v = values[name]
            if kind not in (INPUT, OUTPUT):
                keep.append((ctypes.c_float if code == 2 else ctypes.c_int32)(v))
                addresses.append(ctypes.addressof(keep[-1]))
                continue
            address, size = self.device.allocate(span(v)), span(v)
            driver.to_device(address, v, size)
            if kind == OUTPUT:
                results.append((v, address, size))
            extents, strides = list(reversed(v.shape)), list(reversed(v.stride()))
            dims = (Dimension * max(len(extents), 1))(*[Dimension(0, e, s, 0) for e, s in zip(extents, strides)])
            b = Buffer(0, None, None, 0, Type(*TYPES[v.dtype], 1), len(extents), dims, None)
            self.check(self.native.halyard_cuda_wrap(ctypes.byref(b), address))
            keep.extend([b, dims, v])
            addresses.append(ctypes.addressof(b))
        argv = (ctypes.c_void_p * len(addresses))(*addresses)

        def run(_keep=keep):
            for v, address, size in results:
                driver.to_device(address, v, size)
            self.check(self.function(argv))
            for v, address, size in results:
                driver.to_host(v, address, size)
        return run


class Emulated:
    """As stress_calls.Card."""

    def __init__(self, streams, size):
        self.name, self.driver, self.allocated = "emulated", Driver(), []
        self.traffic = Traffic(self.driver, streams, size)

    def library(self, path, function):
        return EmulatedLibrary(self, path, function)

    def allocate(self, size):
        self.allocated.append(self.driver.allocate(size))
        return self.allocated[-1]

    def synchronize(self):
        pass

    def release(self):
        for address in self.allocated:
            self.driver.free(address)
        self.allocated = []

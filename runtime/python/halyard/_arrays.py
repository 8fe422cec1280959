"""How arrays of each library are read, and how results of the same kind are made.

An adapter is a tuple (native.h): export, empty, finish, stream, dtypes. Export None means numpy's __array_struct__. The keys of
dtypes are Halide's numbers of types: 256 * code + bits.
"""

import sys

import numpy

from . import _native

_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4}
TYPES = {f"{kind}{bits}": 256 * code + bits for kind, code in _CODES.items() for bits in (8, 16, 32, 64)}
TYPES["bool"] = 256 * _CODES["uint"] + 1

ADAPTERS = {}  # by type; the extension looks here first


def _dtypes(find):
    found = {}
    for name, key in TYPES.items():
        dtype = find(name)
        if dtype is not None:
            found[key] = dtype
    return found


def _numpy_dtype(name):
    if name == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            return None
        return numpy.dtype(ml_dtypes.bfloat16)
    try:
        return numpy.dtype(name)
    except TypeError:
        return None


def _numpy():
    def empty(like, shape, dtype):
        return numpy.empty(shape, dtype)

    return (None, empty, None, None, _dtypes(_numpy_dtype))


def _torch(torch):
    from torch.utils.dlpack import to_dlpack
    new = torch.empty

    def export(tensor):
        if tensor.requires_grad and torch.is_grad_enabled():
            raise RuntimeError("an op of Halyard has no gradient: call it under torch.no_grad() or torch.inference_mode()")
        if tensor.is_neg():  # DLPack would give what is in memory
            raise ValueError("a tensor of which torch negates what is in memory, as torch.imag() of a conjugate: pass tensor.resolve_neg()")
        return to_dlpack(tensor)

    def empty(like, shape, dtype):
        return new(shape, dtype=dtype, device=like.device)

    def stream(device):
        return torch.cuda.current_stream(device).cuda_stream

    # The same number without an object around it.
    stream = getattr(torch._C, "_cuda_getCurrentRawStream", stream)
    return (export, empty, None, stream, _dtypes(lambda name: getattr(torch, name, None)))


def _cupy(cupy):
    def pointer():
        return cupy.cuda.get_current_stream().ptr

    def export(array):
        return array.__dlpack__(stream=pointer() or 1)  # 1 is the default stream, where 0 would say nothing

    def empty(like, shape, dtype):
        return cupy.empty(shape, dtype)

    return (export, empty, None, lambda device: pointer(), _dtypes(_numpy_dtype))


def _empty_buffer(like, shape, key):
    device, device_id = map(int, like.__dlpack_device__())
    return _native.Buffer(shape, key, 2 if device in (2, 13) else 1, device_id)


def _on_cuda(array):
    return int(array.__dlpack_device__()[0]) in (2, 13)


def _export(array):
    """Of anything with __dlpack__, ready for the default stream, in a version that says what is read-only."""
    stream = {"stream": 1} if _on_cuda(array) else {}
    try:
        return array.__dlpack__(max_version=(1, 0), **stream)  # which says whether it may be written
    except TypeError:  # of a library that knows no versions
        return array.__dlpack__(**stream)


def _jax(jax):
    def finish(buffer):
        if _on_cuda(buffer):
            _native.synchronize()  # JAX does not say which stream it will read on
        return jax.dlpack.from_dlpack(buffer)

    return (_export, _empty_buffer, finish, None, {key: key for key in TYPES.values()})


def _of_buffer(array):
    """Of what has the buffer protocol alone, as array.array and memoryview."""
    def export(array):
        return numpy.asarray(memoryview(array)).__dlpack__(max_version=(1, 0))

    _, empty, finish, stream, dtypes = _numpy()
    return (export, empty, finish, stream, dtypes)


def unmasked(array):
    """The array. Raises ValueError where it has a mask, which no library reads."""
    if isinstance(array, numpy.ma.MaskedArray):
        raise ValueError("a masked array, whose mask no library reads: pass array.filled(value), or array.data")
    return array


def adapter(array):
    """The adapter for arrays of this type. Raises TypeError where it is none."""
    if isinstance(unmasked(array), numpy.ndarray):
        return _numpy()
    for name, kind, make in (("torch", "Tensor", _torch), ("jax", "Array", _jax), ("cupy", "ndarray", _cupy)):
        library = sys.modules.get(name)
        if library is not None and hasattr(library, kind) and isinstance(array, getattr(library, kind)):
            return make(library)
    if hasattr(array, "__dlpack__"):
        return (_export, _empty_buffer, None, None, {key: key for key in TYPES.values()})
    if hasattr(array, "__array_struct__"):
        return _numpy()
    try:
        memoryview(array)
    except TypeError:
        raise TypeError(f"{type(array)} is no array: it has neither __dlpack__ nor the buffer protocol") from None
    return _of_buffer(array)

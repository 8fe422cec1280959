"""oneDNN's primitives by ctypes: weights in the library's own order, epilogues as post-ops.

    run = Primitive("matmul", [src, weights, bias, dst], post=[("eltwise", GELU_ERF)], ...)

Every function here gives (call, result tensor), as an entry's `onednn` does.
"""

import ctypes
import functools
import glob
import os
import sys

from .frameworks import torch

UNDEF, F16, BF16, F32, S32, S8, U8 = range(7)
INFERENCE = 96
RELU, TANH, LOGISTIC, EXP, GELU_TANH, SWISH, GELU_ERF = 0x20, 0x21, 0x29, 0x2a, 0x2b, 0x2c, 0x31
ADD, MUL = 0x1fff0, 0x1fff1
SOFTMAX, LOG_SOFTMAX = 0x30000, 0x30001
CONVOLUTION_DIRECT = 1
USE_STATISTICS, USE_SCALE, USE_SHIFT, FUSE_RELU = 1, 2, 4, 8
SRC, SRC_1, DST, WEIGHTS, BIAS, MEAN, VARIANCE, SCALE, SHIFT = 1, 2, 17, 33, 41, 49, 50, 51, 52
ATTR_SCALES, ATTR_ZERO_POINTS, ATTR_POST_OP = 4096, 8192, 32768
QUERY_WEIGHTS, QUERY_DST, QUERY_SRC = 131, 133, 129

ANY = "any"  # the layout that the library likes best

P = ctypes.c_void_p


class Argument(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_int), ("memory", P)]


@functools.lru_cache(None)
def library():
    from .contestants import Unavailable
    folders = [os.path.join(sys.prefix, "lib"), *glob.glob(os.path.join(sys.prefix, "lib*")),
               os.environ.get("HALYARD_ONEDNN", "")]
    places = [os.path.join(p, "libdnnl.so.3") for p in folders]
    path = next((p for p in places if os.path.exists(p)), "libdnnl.so.3")
    try:
        return ctypes.CDLL(path)
    except OSError as e:
        raise Unavailable("oneDNN is not installed: scripts/setup --peers") from e


def check(name, *arguments):
    status = getattr(library(), "dnnl_" + name)(*arguments)
    if status:
        from .contestants import Unavailable
        raise Unavailable(f"oneDNN: {name} gives status {status}")


@functools.lru_cache(None)
def engine():
    e, s = P(), P()
    check("engine_create", ctypes.byref(e), 1, ctypes.c_size_t(0))
    check("stream_create", ctypes.byref(s), e, 1)
    return e, s


def set_threads(threads):
    # Its OpenMP is the system's, and not the one in torch's wheel.
    try:
        library()
        ctypes.CDLL("libgomp.so.1").omp_set_num_threads(threads)
    except Exception:
        pass


def kind(dtype):
    return {torch.float16: F16, torch.bfloat16: BF16, torch.float32: F32, torch.int32: S32, torch.int8: S8,
            torch.uint8: U8}[dtype]


def description(shape, dtype, strides=None):
    """A memory descriptor: dense rows, other strides, or ANY."""
    md, n = P(), len(shape)
    dims = (ctypes.c_int64 * n)(*shape)
    if strides == ANY:
        check("memory_desc_create_with_tag", ctypes.byref(md), n, dims, kind(dtype), 1)
        return md
    if strides is None:
        strides, step = [], 1
        for extent in reversed(shape):
            strides.insert(0, step)
            step *= extent
    check("memory_desc_create_with_strides", ctypes.byref(md), n, dims, kind(dtype), (ctypes.c_int64 * n)(*strides))
    return md


def of(t, shape=None, strides=None):
    """The descriptor of a tensor as it lies."""
    return description(list(shape or t.shape), t.dtype, strides or (None if shape else list(t.stride())))


def memory(md, pointer):
    m = P()
    check("memory_create", ctypes.byref(m), md, engine()[0], P(pointer))
    return m


def attributes(post=(), scales=(), zero_points=()):
    """post: ("eltwise", algorithm[, alpha, beta]), ("binary", algorithm, descriptor) or ("sum",);
    scales and zero_points: (argument, mask)."""
    attr, ops = P(), P()
    check("primitive_attr_create", ctypes.byref(attr))
    check("post_ops_create", ctypes.byref(ops))
    for what, *rest in post:
        if what == "eltwise":
            alpha, beta = (rest + [0, 0])[1:3] if len(rest) > 1 else (1 if rest[0] == SWISH else 0, 0)
            check("post_ops_append_eltwise", ops, rest[0], ctypes.c_float(alpha), ctypes.c_float(beta))
        elif what == "binary":
            check("post_ops_append_binary", ops, rest[0], rest[1])
        else:
            check("post_ops_append_sum", ops, ctypes.c_float(1), 0, UNDEF)
    check("primitive_attr_set_post_ops", attr, ops)
    for argument, mask in scales:
        check("primitive_attr_set_scales_mask", attr, argument, mask)
    for argument, mask in zero_points:
        check("primitive_attr_set_zero_points_mask", attr, argument, mask)
    return attr


class Primitive:
    """create(pd) makes the descriptor; execute with memories by argument number."""

    def __init__(self, name, *arguments):
        self.pd, self.primitive = P(), P()
        check(name + "_primitive_desc_create", ctypes.byref(self.pd), *arguments)
        check("primitive_create", ctypes.byref(self.primitive), self.pd)

    def wanted(self, query):
        f = library().dnnl_primitive_desc_query_md
        f.restype = P
        return P(f(self.pd, query, 0))

    def bind(self, memories, keep=()):
        """A function that runs it. `memories`: {argument: memory}; `keep`: what has to stay alive."""
        arguments = (Argument * len(memories))(*[Argument(a, m) for a, m in memories.items()])
        execute, stream = library().dnnl_primitive_execute, engine()[1]
        execute.argtypes = [P, P, ctypes.c_int, P]
        pointer, count, primitive = ctypes.addressof(arguments), len(memories), self.primitive

        def run(keep=(arguments, keep, self)):
            return execute(primitive, stream, count, pointer)
        if run():
            raise RuntimeError("oneDNN: a primitive does not execute with these arguments")
        return run


def packed(wanted, t, shape=None, strides=None):
    """A tensor's memory in the order that a primitive wants, and what keeps it alive."""
    size = library().dnnl_memory_desc_get_size
    size.restype = ctypes.c_size_t
    place = torch.empty(size(wanted) + 64, dtype=torch.uint8)
    pointer = (place.data_ptr() + 63) // 64 * 64
    source, target = of(t, shape, strides), memory(wanted, pointer)
    e = engine()[0]
    reorder = Primitive("reorder", source, e, wanted, e, None)
    reorder.bind({SRC: memory(source, t.data_ptr()), DST: target})()
    check("stream_wait", engine()[1])
    return target, place


def post_operations(post):
    """Their descriptors, and the memories of the tensors that binary ones read: ("binary", algorithm, tensor)."""
    described, memories = [], {}
    for i, (what, *rest) in enumerate(post):
        if what == "binary":
            algorithm, t = rest
            described.append(("binary", algorithm, of(t)))
            memories[ATTR_POST_OP * (i + 1) | SRC_1] = memory(of(t), t.data_ptr())
        else:
            described.append((what, *rest))
    return described, memories


def linear(a, w, bias=None, post=(), out=None):
    """post(a w^T + bias); a [m, k], w [n, k] packed ahead."""
    (m, k), n = a.shape, w.shape[0]
    y = torch.empty(m, n, dtype=out or a.dtype)
    described, others = post_operations(post)
    bias_md = of(bias, [1, n]) if bias is not None else None
    p = Primitive("matmul", engine()[0], of(a), description([k, n], w.dtype, ANY), bias_md, of(y),
                  attributes(described))
    weights, keep = packed(p.wanted(QUERY_WEIGHTS), w, [k, n], [1, k])
    memories = {SRC: memory(of(a), a.data_ptr()), WEIGHTS: weights, DST: memory(of(y), y.data_ptr()), **others}
    if bias is not None:
        memories[BIAS] = memory(bias_md, bias.data_ptr())
    return p.bind(memories, (keep, y, a, bias, post)), y


def quantised_linear(a, w, scale_a, scale_b, zero_a, bias, post=()):
    """post(scale_a scale_b (a - zero_a) w^T + bias) in f32 of u8 a [m, k] and s8 w [n, k]."""
    (m, k), n = a.shape, w.shape[0]
    y = torch.empty(m, n)
    one = torch.tensor([scale_a], dtype=torch.float32)
    zero = torch.tensor([zero_a], dtype=torch.int32)
    scales, bias_md = scale_b.float(), of(bias, [1, n])
    described, others = post_operations(post)
    p = Primitive("matmul", engine()[0], of(a), description([k, n], w.dtype, ANY), bias_md, of(y),
                  attributes(described, [(SRC, 0), (WEIGHTS, 2)], [(SRC, 0)]))
    weights, keep = packed(p.wanted(QUERY_WEIGHTS), w, [k, n], [1, k])
    memories = {SRC: memory(of(a), a.data_ptr()), WEIGHTS: weights, DST: memory(of(y), y.data_ptr()),
                BIAS: memory(bias_md, bias.data_ptr()), ATTR_SCALES | SRC: memory(of(one), one.data_ptr()),
                ATTR_SCALES | WEIGHTS: memory(of(scales), scales.data_ptr()),
                ATTR_ZERO_POINTS | SRC: memory(of(zero), zero.data_ptr()), **others}
    return p.bind(memories, (keep, y, a, one, zero, scales, bias, post)), y


def chain(*steps):
    """Several calls as one, with the last result."""
    calls = [s[0] for s in steps]

    def run():
        for call in calls:
            call()
    return run, steps[-1][1]


def softmax(x, log=False):
    y = torch.empty_like(x)
    p = Primitive("softmax_forward", engine()[0], INFERENCE, LOG_SOFTMAX if log else SOFTMAX, of(x), of(y),
                  x.dim() - 1, None)
    return p.bind({SRC: memory(of(x), x.data_ptr()), DST: memory(of(y), y.data_ptr())}, (x, y)), y


def layer_norm(x, weight, bias, eps):
    y = torch.empty_like(x)
    scale, shift = weight.float(), bias.float()
    p = Primitive("layer_normalization_forward", engine()[0], INFERENCE, of(x), of(y), None, ctypes.c_float(eps),
                  USE_SCALE | USE_SHIFT, None)
    return p.bind({SRC: memory(of(x), x.data_ptr()), DST: memory(of(y), y.data_ptr()),
                   SCALE: memory(of(scale), scale.data_ptr()), SHIFT: memory(of(shift), shift.data_ptr())},
                  (x, y, scale, shift)), y


def eltwise(x, algorithm, alpha=0.0, beta=0.0, post=()):
    y = torch.empty_like(x)
    p = Primitive("eltwise_forward", engine()[0], INFERENCE, algorithm, of(x), of(y), ctypes.c_float(alpha),
                  ctypes.c_float(beta), attributes(post))
    return p.bind({SRC: memory(of(x), x.data_ptr()), DST: memory(of(y), y.data_ptr())}, (x, y)), y


def add_then(x, row, post):
    """post(x + row): row goes to every row of x."""
    y = torch.empty_like(x)
    other = of(row, [1, x.shape[1]])
    p = Primitive("binary", engine()[0], ADD, of(x), other, of(y), attributes(post))
    return p.bind({SRC: memory(of(x), x.data_ptr()), SRC_1: memory(other, row.data_ptr()),
                   DST: memory(of(y), y.data_ptr())}, (x, y, row)), y


def convolution(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1, post=(), blocked=False):
    """x [n, c, h, w] with any strides, w [o, c / groups, kh, kw] packed ahead. The result lies as x does; or
    both lie in the order that the primitive likes best, where a network leaves them from layer to layer."""
    n, c, h, wd = x.shape
    o, _, kh, kw = w.shape
    oh = (h + 2 * padding - dilation * (kh - 1) - 1) // stride + 1
    ow = (wd + 2 * padding - dilation * (kw - 1) - 1) // stride + 1
    channels_last = x.stride(1) == 1
    y = torch.empty(n, o, oh, ow, dtype=x.dtype,
                    memory_format=torch.channels_last if channels_last else torch.contiguous_format)
    shape = [groups, o // groups, c // groups, kh, kw] if groups > 1 else [o, c, kh, kw]
    two = lambda v: (ctypes.c_int64 * 2)(v, v)
    described, others = post_operations(post)
    p = Primitive("convolution_forward", engine()[0], INFERENCE, CONVOLUTION_DIRECT,
                  description(list(x.shape), x.dtype, ANY) if blocked else of(x),
                  description(shape, w.dtype, ANY), of(bias) if bias is not None else None,
                  description(list(y.shape), y.dtype, ANY) if blocked else of(y), two(stride),
                  two(dilation - 1), two(padding), two(padding), attributes(described))
    w = w.contiguous()
    weights, keep = packed(p.wanted(QUERY_WEIGHTS), w, shape)
    source, target, result, kept = memory(of(x), x.data_ptr()), memory(of(y), y.data_ptr()), y, ()
    if blocked:
        source, kept = packed(p.wanted(QUERY_SRC), x)
        target, place = packed(p.wanted(QUERY_DST), y)
        back = Primitive("reorder", p.wanted(QUERY_DST), engine()[0], of(y), engine()[0], None)
        unpack = back.bind({SRC: target, DST: memory(of(y), y.data_ptr())}, (place, y))
        result = lambda: (unpack(), y)[1]
        kept = (kept, place)
    memories = {SRC: source, WEIGHTS: weights, DST: target, **others}
    if bias is not None:
        memories[BIAS] = memory(of(bias), bias.data_ptr())
    return p.bind(memories, (keep, kept, x, y, bias, w, post)), result


def quantised_convolution(x, w, x_scale, x_zero, w_scales, y_scale, y_zero, bias, padding=0, groups=1, post=()):
    """post(x_scale w_scales (x - x_zero) conv w + bias) as u8 of u8 x [n, c, h, w] and s8 w [o, c / groups, kh, kw], x and
    the result channels_last."""
    n, c, h, wd = x.shape
    o, _, kh, kw = w.shape
    y = torch.empty(n, o, h + 2 * padding - kh + 1, wd + 2 * padding - kw + 1, dtype=torch.uint8,
                    memory_format=torch.channels_last)
    shape = [groups, o // groups, c // groups, kh, kw] if groups > 1 else [o, c, kh, kw]
    of_channels = 3 if groups > 1 else 1  # the dimensions of the weights that have scales of their own
    two = lambda v: (ctypes.c_int64 * 2)(v, v)
    described, others = post_operations(post)
    p = Primitive("convolution_forward", engine()[0], INFERENCE, CONVOLUTION_DIRECT, of(x),
                  description(shape, w.dtype, ANY), of(bias), of(y), two(1), two(0), two(padding),
                  two(padding), attributes(described, [(SRC, 0), (WEIGHTS, of_channels), (DST, 0)], [(SRC, 0), (DST, 0)]))
    weights, keep = packed(p.wanted(QUERY_WEIGHTS), w, shape)
    given = {SRC: x, DST: y, BIAS: bias, ATTR_SCALES | SRC: torch.tensor([x_scale], dtype=torch.float32),
             ATTR_SCALES | WEIGHTS: w_scales.float(), ATTR_SCALES | DST: torch.tensor([y_scale], dtype=torch.float32),
             ATTR_ZERO_POINTS | SRC: torch.tensor([x_zero], dtype=torch.int32),
             ATTR_ZERO_POINTS | DST: torch.tensor([y_zero], dtype=torch.int32)}
    memories = {WEIGHTS: weights, **{a: memory(of(t), t.data_ptr()) for a, t in given.items()}, **others}
    return p.bind(memories, (keep, given, post)), y


def batch_norm(x, mean, variance, weight, bias, eps, relu=False):
    y = torch.empty_like(x)
    kept = [t.float() for t in (mean, variance, weight, bias)]
    p = Primitive("batch_normalization_forward", engine()[0], INFERENCE, of(x), of(y), ctypes.c_float(eps),
                  USE_STATISTICS | USE_SCALE | USE_SHIFT, attributes([("eltwise", RELU)] if relu else []))
    memories = {SRC: memory(of(x), x.data_ptr()), DST: memory(of(y), y.data_ptr())}
    for argument, t in zip((MEAN, VARIANCE, SCALE, SHIFT), kept):
        memories[argument] = memory(of(t), t.data_ptr())
    return p.bind(memories, (x, y, kept)), y

"""Ops over integers of 8 bits with their scales and zero points. Sums are exact, in 32 bits."""

import numpy as np

from lowering.builder import Call, op
from lowering.elementwise import cast_to
from lowering.products import conv, matmul


def centred(b, c, i, zero, axis=None):
    """An input as int32 without its zero point, which is a number or stands along an axis."""
    x, z = c[i], c[zero]
    if x is None or x.type not in ("uint8", "int8"):
        c.fail(f"input {i} has to be of 8 bits")
    if z is not None and z.constant is not None and not z.constant.any():
        z = None
    if z is not None and z.elements != 1 and (axis is None or z.rank != 1):
        c.fail("zero points of rows are not supported")
    if x.constant is not None and (z is None or z.constant is not None):
        numbers = x.constant.astype(np.int32)
        if z is not None:
            numbers = numbers - z.constant.astype(np.int32).reshape(shape_along(z, x.rank, axis))
        return b.constant(numbers, "int32")
    if z is None:
        return cast_to(b, x, "int32")
    return b.map("sub", cast_to(b, x, "int32"), cast_to(b, b.reshape(z, shape_along(z, x.rank, axis)), "int32"))


def shape_along(value, rank, axis):
    return [] if value.elements == 1 else [value.shape[0].number if d == axis % rank else 1 for d in range(rank)]


def product(b, c, lower, x, w, bias=None):
    """A product or convolution of other operands, by the attributes of this node."""
    made = Call(c.node, [v for v in (x, w, bias) if v is not None], c.place, c.version)
    return lower(b, made)


@op("MatMulInteger")
def matmul_integer(b, c):
    return product(b, c, matmul, centred(b, c, 0, 2), centred(b, c, 1, 3, -1))


@op("ConvInteger")
def conv_integer(b, c):
    return product(b, c, conv, centred(b, c, 0, 2), centred(b, c, 1, 3, 0))


def requantized(b, c, sums, scale, y_scale, y_zero):
    """Sums in units of `scale` as integers in units of `y_scale`."""
    level = b.map("round", b.map("div", b.map("mul", cast_to(b, sums, "float32"), scale), b.reshape(y_scale, ())))
    level = b.map("add", level, cast_to(b, b.reshape(y_zero, ()), "float32"))
    info = np.iinfo(y_zero.type)
    return cast_to(b, b.with_number("min", b.with_number("max", level, info.min), info.max), y_zero.type)


def scale_of(b, x_scale, w_scale):
    if x_scale.constant is not None and w_scale.constant is not None:
        return b.constant((x_scale.constant.flatten()[0] * w_scale.constant).astype(np.float32))
    return b.map("mul", b.reshape(x_scale, ()), w_scale)


def check_scales(c, places):
    if any(c[i] is None for i in places) or c[places[-1]].type not in ("uint8", "int8") or any(c[i].elements != 1 for i in places[-2:]):
        c.fail("one scale and one zero point of 8 bits for all of the result are supported")


@op("QLinearMatMul")
def qlinear_matmul(b, c):
    check_scales(c, (1, 2, 4, 5, 6, 7))
    sums = product(b, c, matmul, centred(b, c, 0, 2), centred(b, c, 3, 5, -1))
    if c[1].elements != 1:
        c.fail("scales of rows are not supported")
    return requantized(b, c, sums, scale_of(b, c[1], b.reshape(c[4], ()) if c[4].elements == 1 else c[4]), c[6], c[7])


@op("QLinearConv")
def qlinear_conv(b, c):
    check_scales(c, (1, 2, 4, 5, 6, 7))
    sums = product(b, c, conv, centred(b, c, 0, 2), centred(b, c, 3, 5, 0), c[8])
    scales = b.reshape(c[4], ()) if c[4].elements == 1 else b.reshape(c[4], [c[4].shape[0], *[1] * (sums.rank - 2)])
    return requantized(b, c, sums, scale_of(b, c[1], scales), c[6], c[7])


@op("DynamicQuantizeLinear")
def dynamic_quantize(b, c):
    """By a scale that the largest and the smallest element give, with 0 among the numbers that are exact."""
    x, axes = c[0], list(range(c[0].rank))
    high = b.with_number("max", b.reduce("max", x, axes, False), 0)
    low = b.with_number("min", b.reduce("min", x, axes, False), 0)
    # Rounded as a division is; of f32 it would be a multiplication, and other levels now and then.
    scale = cast_to(b, b.with_number("div", cast_to(b, b.map("sub", high, low), "float64"), 255), "float32")
    scale = b.map("where", b.map("equal", scale, b.scalar(0, "float32"), type_="bool"), b.scalar(1, "float32"), scale, type_="float32")
    zero = b.map("round", b.map("div", b.map("neg", low), scale))
    zero = b.with_number("min", b.with_number("max", zero, 0), 255)
    level = b.map("add", b.map("round", b.map("div", x, scale)), zero)
    level = b.with_number("min", b.with_number("max", level, 0), 255)
    return [cast_to(b, level, "uint8"), scale, cast_to(b, zero, "uint8")]

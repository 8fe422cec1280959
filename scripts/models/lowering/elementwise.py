"""Ops of single elements."""

import integers
import numpy as np

from lowering.builder import op, type_name

for onnx_name, fn in [("Add", "add"), ("Sub", "sub"), ("Mul", "mul"), ("Div", "div"), ("And", "and"), ("Or", "or"), ("Xor", "xor"),
                      ("BitwiseAnd", "and"), ("BitwiseOr", "or"), ("BitwiseXor", "xor")]:
    op(onnx_name)(lambda b, c, fn=fn: b.map(fn, c[0], c[1]))

for onnx_name, fn in [("Equal", "equal"), ("Less", "less"), ("LessOrEqual", "less_equal")]:
    op(onnx_name)(lambda b, c, fn=fn: b.map(fn, c[0], c[1], type_="bool"))
for onnx_name, fn in [("Greater", "less"), ("GreaterOrEqual", "less_equal")]:
    op(onnx_name)(lambda b, c, fn=fn: b.map(fn, c[1], c[0], type_="bool"))

for onnx_name, fn in [("Exp", "exp"), ("Log", "log"), ("Sqrt", "sqrt"), ("Tanh", "tanh"), ("Sin", "sin"), ("Cos", "cos"), ("Tan", "tan"),
                      ("Asin", "asin"), ("Acos", "acos"), ("Atan", "atan"), ("Sinh", "sinh"), ("Cosh", "cosh"), ("Asinh", "asinh"),
                      ("Acosh", "acosh"), ("Atanh", "atanh"), ("Erf", "erf"), ("Floor", "floor"), ("Ceil", "ceil"), ("Round", "round"),
                      ("Sigmoid", "sigmoid"), ("Softplus", "softplus"), ("Neg", "neg"), ("Abs", "abs"), ("Sign", "sign"), ("Not", "not"),
                      ("BitwiseNot", "invert"), ("Relu", "relu")]:
    op(onnx_name)(lambda b, c, fn=fn: b.map(fn, c[0]))

op("IsNaN")(lambda b, c: b.map("isnan", c[0], type_="bool"))


@op("IsInf")
def is_inf(b, c):
    x, signs = c[0], [s for s, name in ((1, "detect_positive"), (-1, "detect_negative")) if c.get(name, 1)]
    if not signs:
        return b.map("less", x, x, type_="bool")  # never
    found = [b.map("equal", x, b.scalar(s * np.inf, x.type), type_="bool") for s in signs]
    return found[0] if len(found) == 1 else b.map("or", *found, type_="bool")


@op("Identity")
def identity(b, c):
    return c[0]


@op("Dropout")
def dropout(b, c):
    if c[2] is not None and (c[2].constant is None or bool(c[2].constant.flatten()[0])):
        c.fail("Dropout in training is not supported")
    return c[0]


@op("Pow")
def power(b, c):
    exponent = c[1].constant
    if exponent is not None and exponent.size == 1 and c[0].type in ("float32", "float64"):
        e = float(exponent.flatten()[0])
        if e == 2:
            return b.map("mul", c[0], b.reshape(c[0], c[0].shape))
        if e == 0.5:
            return b.map("sqrt", c[0])
        if e == 3:
            return b.map("mul", b.map("mul", c[0], c[0]), c[0])
    return b.map("pow", c[0], c[1], type_=c[0].type)


@op("Mod")
def mod(b, c):
    return b.map("fmod" if c.get("fmod", 0) else "mod", c[0], c[1])


@op("BitShift")
def shift(b, c):
    return b.map("shift_left" if c.get("direction") == "LEFT" else "shift_right", c[0], c[1])


@op("Reciprocal")
def reciprocal(b, c):
    return b.map("div", b.scalar(1, c[0].type), c[0])


def chain(b, fn, values):
    result = values[0]
    for v in values[1:]:
        result = b.map(fn, result, v)
    return result


op("Min")(lambda b, c: chain(b, "min", c.inputs))
op("Max")(lambda b, c: chain(b, "max", c.inputs))
op("Sum")(lambda b, c: chain(b, "add", c.inputs))


@op("Mean")
def mean(b, c):
    return b.with_number("div", chain(b, "add", c.inputs), len(c.inputs))


@op("Where")
def where(b, c):
    return b.map("where", c[0], c[1], c[2], type_=c[1].type)


@op("Cast")
def cast(b, c):
    type_ = type_name(c.get("to"), c.place)
    result = cast_to(b, c[0], type_)
    if type_ in ("float32", "float64") and result.node is not None and result is not c[0]:
        result.content = c[0].content  # whole numbers still: of a Range
    return result


@op("CastLike")
def cast_like(b, c):
    return cast_to(b, c[0], c[1].type)


def cast_to(b, value, type_):
    if type_ == value.type:
        return value
    if value.constant is not None and value.type in ("int8", "uint8", "int32") and type_ in ("int32", "float32") and value.constant.size <= 4096:
        return b.constant(value.constant.astype(type_), type_)
    return b.map("truth" if type_ == "bool" else "cast", value, type_=type_)


@op("Clip")
def clip(b, c):
    x = c[0]
    low = c[1] if c[1] is not None else b.scalar(c.get("min"), x.type) if c.get("min") is not None else None
    high = c[2] if c[2] is not None else b.scalar(c.get("max"), x.type) if c.get("max") is not None else None
    if low is not None:
        x = b.map("max", x, low)
    return x if high is None else b.map("min", x, high)


@op("LeakyRelu")
def leaky_relu(b, c):
    return negative_side(b, c[0], b.with_number("mul", c[0], c.get("alpha", 0.01)))


@op("PRelu")
def prelu(b, c):
    return negative_side(b, c[0], b.map("mul", c[0], c[1]))


def negative_side(b, x, below):
    """x where it is not below 0, else the other."""
    return b.map("where", b.map("less", x, b.scalar(0, x.type), type_="bool"), below, x, type_=x.type)


def exponential_side(b, x, alpha, scale=None):
    """alpha (e^x - 1), of the part of x below 0: no exponential overflows."""
    part = b.with_number("min", x, 0)
    return b.with_number("mul", b.with_number("sub", b.map("exp", part), 1), alpha)


@op("Elu")
def elu(b, c):
    return negative_side(b, c[0], exponential_side(b, c[0], c.get("alpha", 1.0)))


@op("Selu")
def selu(b, c):
    alpha, gamma = c.get("alpha", 1.67326319217681884765625), c.get("gamma", 1.05070102214813232421875)
    return b.with_number("mul", negative_side(b, c[0], exponential_side(b, c[0], alpha)), gamma)


@op("Celu")
def celu(b, c):
    alpha = c.get("alpha", 1.0)
    return negative_side(b, c[0], exponential_side(b, b.with_number("div", c[0], alpha), alpha))


def hard_sigmoid_of(b, x, alpha, beta):
    line = b.with_number("add", b.with_number("mul", x, alpha), beta)
    return b.with_number("min", b.with_number("max", line, 0), 1)


@op("HardSigmoid")
def hard_sigmoid(b, c):
    return hard_sigmoid_of(b, c[0], c.get("alpha", 0.2), c.get("beta", 0.5))


@op("HardSwish")
def hard_swish(b, c):
    return b.map("mul", c[0], hard_sigmoid_of(b, c[0], 1 / 6, 0.5))


@op("Swish")
def swish(b, c):
    return b.map("mul", c[0], b.map("sigmoid", b.with_number("mul", c[0], c.get("alpha", 1.0))))


@op("Mish")
def mish(b, c):
    return b.map("mul", c[0], b.map("tanh", b.map("softplus", c[0])))


@op("Softsign")
def softsign(b, c):
    return b.map("div", c[0], b.with_number("add", b.map("abs", c[0]), 1))


@op("ThresholdedRelu")
def thresholded_relu(b, c):
    alpha = b.scalar(c.get("alpha", 1.0), c[0].type)
    return b.map("where", b.map("less", alpha, c[0], type_="bool"), c[0], b.scalar(0, c[0].type), type_=c[0].type)


@op("Shrink")
def shrink(b, c):
    x, lambd, bias = c[0], c.get("lambd", 0.5), c.get("bias", 0.0)
    zero = b.scalar(0, x.type)
    above = b.map("where", b.map("less", b.scalar(lambd, x.type), x, type_="bool"), b.with_number("sub", x, bias), zero, type_=x.type)
    return b.map("where", b.map("less", x, b.scalar(-lambd, x.type), type_="bool"), b.with_number("add", x, bias), above, type_=x.type)


@op("Gelu")
def gelu(b, c):
    x = c[0]
    if c.get("approximate", "none") == "none":
        return b.map("gelu", x)
    inner = b.with_number("mul", b.map("add", x, b.with_number("mul", b.map("mul", b.map("mul", x, x), x), 0.044715)), np.sqrt(2 / np.pi))
    return b.map("mul", b.with_number("mul", x, 0.5), b.with_number("add", b.map("tanh", inner), 1))


@op("QuantizeLinear")
def quantize(b, c):
    x, scale, zero = c[0], c[1], c[2]
    type_ = zero.type if zero is not None else "uint8"
    if type_ not in ("uint8", "int8", "uint16", "int16"):
        c.fail(f"results of type {type_} are not supported")
    scale = along_axis(b, c, x, scale)
    level = b.map("round", b.map("div", x, scale))
    if zero is not None:
        level = b.map("add", level, cast_to(b, along_axis(b, c, x, zero), x.type))
    info = np.iinfo(type_)
    return cast_to(b, b.with_number("min", b.with_number("max", level, info.min), info.max), type_)


@op("DequantizeLinear")
def dequantize(b, c):
    x, scale = c[0], c[1]
    if integers.is_dequantized(c):
        made = b.constant(integers.dequantized(c))
        made.levels = integers.levels_of(c)
        return made
    value = cast_to(b, x, "int32")
    if c[2] is not None:
        value = b.map("sub", value, cast_to(b, along_axis(b, c, x, c[2]), "int32"))
    return b.map("mul", cast_to(b, value, scale.type), along_axis(b, c, x, scale))


def along_axis(b, c, x, value):
    """A scale for each index of an axis, in the dimensions of x."""
    if value.rank == 0 or value.elements == 1:
        return b.reshape(value, ())
    if value.rank > 1:
        c.fail("scales of blocks are not supported")
    axis = c.axis(x.rank, 1)
    return b.reshape(value, [value.shape[0] if d == axis else 1 for d in range(axis, x.rank)])

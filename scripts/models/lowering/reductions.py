"""Reductions, and what is made of them: norms and softmax."""

import numpy as np

from lowering.builder import op
from lowering.elementwise import cast_to
from sizes import product


def axes_of(c, rank):
    axes = c.numbers(1, "axes", None)
    if axes is None or len(axes) == 0:
        return [] if c.get("noop_with_empty_axes", 0) else list(range(rank))
    return sorted(c.axes(axes, rank))


def mean_of(b, x, axes, keep):
    count = product([x.shape[d] for d in axes])
    total = b.reduce("sum", x, axes, keep)
    if count.number is not None:
        return b.with_number("div", total, count.number)
    return b.map("div", total, cast_to(b, b.reshape(b.stored(b.sizes([count])), ()), x.type))


def simple(fn):
    return lambda b, c: b.reduce(fn, c[0], axes_of(c, c[0].rank), c.get("keepdims", 1))


op("ReduceSum")(simple("sum"))
op("ReduceMax")(simple("max"))
op("ReduceMin")(simple("min"))
op("ReduceProd")(simple("prod"))


@op("ReduceMean")
def reduce_mean(b, c):
    axes = axes_of(c, c[0].rank)
    return mean_of(b, c[0], axes, c.get("keepdims", 1)) if axes else c[0]


@op("ReduceSumSquare", "ReduceL2")
def sum_square(b, c):
    axes = axes_of(c, c[0].rank)
    total = b.reduce("sum", b.map("mul", c[0], c[0]), axes, c.get("keepdims", 1))
    return b.map("sqrt", total) if c.node.op_type == "ReduceL2" else total


@op("ReduceL1")
def l1(b, c):
    return b.reduce("sum", b.map("abs", c[0]), axes_of(c, c[0].rank), c.get("keepdims", 1))


@op("ReduceLogSum")
def log_sum(b, c):
    return b.map("log", b.reduce("sum", c[0], axes_of(c, c[0].rank), c.get("keepdims", 1)))


@op("ReduceLogSumExp")
def log_sum_exp(b, c):
    axes, x = axes_of(c, c[0].rank), c[0]
    top = b.reduce("max", x, axes, True)
    # Less than the largest, which LLVM would drop, as it is told that there are no infinities.
    most = 3.37e38 if x.type == "bfloat16" else float(np.nextafter(np.finfo(x.type).max, 0, dtype=x.type))
    top = b.with_number("max", b.with_number("min", top, most), -most)  # infinity less infinity were no number
    total = b.map("add", b.map("log", b.reduce("sum", b.map("exp", b.map("sub", x, top)), axes, True)), top)
    return total if c.get("keepdims", 1) else b.reshape(total, [s for d, s in enumerate(x.shape) if d not in axes])


@op("ArgMax", "ArgMin")
def arg(b, c):
    axis, keep = c.axis(c[0].rank), bool(c.get("keepdims", 1))
    shape = [1 if d == axis else s for d, s in enumerate(c[0].shape) if keep or d != axis]
    return b.add("arg", [c[0]], shape, "int64", fn="max" if c.node.op_type == "ArgMax" else "min", axis=axis, keep=keep,
                 last=bool(c.get("select_last_index", 0)))


@op("CumSum")
def cumsum(b, c):
    axis = c.normal(int(c.numbers(1)[0]), c[0].rank)
    return b.add("cumsum", [c[0]], c[0].shape, c[0].type, axis=axis, exclusive=bool(c.get("exclusive", 0)), reverse=bool(c.get("reverse", 0)))


@op("Softmax", "LogSoftmax")
def softmax(b, c):
    x, shape = c[0], c[0].shape
    axis = c.axis(x.rank, -1 if c.version >= 13 else 1)
    if c.version < 13 and axis != x.rank - 1:  # of all dimensions from the axis on
        x = b.reshape(x, [product(shape[:axis]), product(shape[axis:])])
        axis = 1
    shifted = b.map("sub", x, b.reduce("max", x, [axis], True))
    weights = b.map("exp", shifted)
    total = b.reduce("sum", weights, [axis], True)
    if c.node.op_type == "Softmax":
        return b.reshape(b.map("div", weights, total), shape)
    return b.reshape(b.map("sub", shifted, b.map("log", total)), shape)


@op("Hardmax")
def hardmax(b, c):
    axis, x = c.axis(c[0].rank, -1), c[0]
    shape = [1 if d == axis else s for d, s in enumerate(x.shape)]
    best = b.add("arg", [x], shape, "int64", fn="max", axis=axis, keep=True, last=False)
    places = b.add("range", [b.scalar(0, "int64"), b.scalar(1, "int64")], [x.shape[axis]], "int64")
    places = b.reshape(places, [x.shape[axis] if d == axis else 1 for d in range(axis, x.rank)])
    return cast_to(b, b.map("equal", places, best, type_="bool"), x.type)


def normalised(b, x, axes, eps):
    centred = b.map("sub", x, mean_of(b, x, axes, True))
    variance = mean_of(b, b.map("mul", centred, centred), axes, True)
    return b.map("div", centred, b.map("sqrt", b.with_number("add", variance, eps)))


@op("LayerNormalization")
def layer_norm(b, c):
    x = c[0]
    y = normalised(b, x, list(range(c.axis(x.rank, -1), x.rank)), c.get("epsilon", 1e-5))
    y = b.map("mul", y, c[1])
    return y if c[2] is None else b.map("add", y, c[2])


@op("RMSNormalization")
def rms_norm(b, c):
    x = c[0]
    axes = list(range(c.axis(x.rank, -1), x.rank))
    mean = mean_of(b, b.map("mul", x, x), axes, True)
    return b.map("mul", b.map("div", x, b.map("sqrt", b.with_number("add", mean, c.get("epsilon", 1e-5)))), c[1])


@op("InstanceNormalization")
def instance_norm(b, c):
    x = c[0]
    per_channel = [x.shape[1]] + [1] * (x.rank - 2)
    y = normalised(b, x, list(range(2, x.rank)), c.get("epsilon", 1e-5))
    return b.map("add", b.map("mul", y, b.reshape(c[1], per_channel)), b.reshape(c[2], per_channel))


@op("GroupNormalization")
def group_norm(b, c):
    x, groups = c[0], c.number("num_groups", None, 1)
    if x.rank < 2 or x.shape[1].number is None or x.shape[1].number % groups != 0:
        c.fail(f"num_groups: {groups} groups do not divide {x.shape[1] if x.rank > 1 else 'no'} channels")
    if c.version < 21:
        c.fail("GroupNormalization before opset 21 has a scale for each group, and is not supported")
    y = b.reshape(x, [x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]])
    y = b.reshape(normalised(b, y, list(range(2, y.rank)), c.get("epsilon", 1e-5)), x.shape)
    per_channel = [x.shape[1]] + [1] * (x.rank - 2)
    return b.map("add", b.map("mul", y, b.reshape(c[1], per_channel)), b.reshape(c[2], per_channel))


@op("MeanVarianceNormalization")
def mean_variance(b, c):
    return normalised(b, c[0], c.axes(c.get("axes", [0, 2, 3]), c[0].rank), 1e-9)


@op("LpNormalization")
def lp_norm(b, c):
    x, axis = c[0], c.axis(c[0].rank, -1)
    if c.get("p", 2) == 1:
        norm = b.reduce("sum", b.map("abs", x), [axis], True)
    else:
        norm = b.map("sqrt", b.reduce("sum", b.map("mul", x, x), [axis], True))
    none = b.map("equal", norm, b.scalar(0, x.type), type_="bool")  # a vector of zeros stays one
    return b.map("div", x, b.map("where", none, b.scalar(1, x.type), norm, type_=x.type))


@op("BatchNormalization")
def batch_norm(b, c):
    x, parts = c[0], c.inputs[1:5]
    if c.get("training_mode", 0):
        c.fail("BatchNormalization in training is not supported")
    per_channel = [x.shape[1]] + [1] * (x.rank - 2)
    eps = c.get("epsilon", 1e-5)
    if all(p.constant is not None for p in parts):
        scale, bias, mean, variance = [p.constant.astype(np.float64) for p in parts]
        factor = scale / np.sqrt(variance + eps)
        added = bias - mean * factor
        shape = [-1] + [1] * (x.rank - 2)
        return b.map("add", b.map("mul", x, b.scalar(factor.reshape(shape), x.type)), b.scalar(added.reshape(shape), x.type))
    scale, bias, mean, variance = [b.reshape(p, per_channel) for p in parts]
    factor = b.map("div", scale, b.map("sqrt", b.with_number("add", variance, eps)))
    return b.map("add", b.map("mul", b.map("sub", x, mean), factor), bias)

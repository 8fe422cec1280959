"""Ops over small arrays of whole numbers that are known before a call: shapes, and what is computed of them."""

import math

import numpy as np

from lowering.builder import content_of, type_name
from sizes import Size

MOST_KNOWN = 4096  # elements of such an array
INTEGERS = ("int64", "int32", "bool", "uint8", "int8")


def known(builder, call):
    """The result of a node as a Value of known Sizes, or None where it depends on data, or is no such op."""
    name = call.node.op_type
    if name == "Shape":
        shape = call[0].shape
        start, end = call.get("start", 0), call.get("end", len(shape))
        return builder.sizes(list(shape)[slice(start, end)])
    if name == "Size":
        return builder.sizes(call[0].elements)
    function = _FUNCTIONS.get(name)
    if function is None or not call.inputs or call[0] is None:
        return None
    contents = [None if v is None else content_of(v) for v in call.inputs]
    if any(v is not None and found is None for v, found in zip(call.inputs, contents)):
        return None
    try:
        result = function(call, *contents)
    except (ValueError, IndexError, TypeError, ZeroDivisionError):
        return None
    if result is None or np.size(result) > MOST_KNOWN:
        return None
    type_ = "bool" if name == "Equal" else type_name(call.get("to"), call.place) if name == "Cast" else \
        call[1].type if name == "Where" else call[0].type
    return builder.sizes(result, type_) if type_ in INTEGERS else None


def _whole(content):
    return [s.number for s in content.flatten().tolist()]


def _elementwise(function):
    made = np.frompyfunc(lambda *v: function(*(Size.of(x) for x in v)), 2, 1)
    return lambda call, a, b: made(a, b)


def _divide(a, b):
    if a.number is not None and b.number is not None:
        whole = abs(a.number) // abs(b.number)
        return Size.of(whole if (a.number < 0) == (b.number < 0) else -whole)
    return a // b


def _gather(call, x, indices):
    axis = call.axis(x.ndim)
    taken = np.take(x, np.array(_whole(indices)).reshape(indices.shape), axis)
    return np.asarray(taken, object)


def _slice(call, x, starts, ends, axes=None, steps=None):
    axes = _whole(axes) if axes is not None else list(range(starts.size))
    steps = _whole(steps) if steps is not None else [1] * starts.size
    parts = [slice(None)] * x.ndim
    for start, end, axis, step in zip(_whole(starts), _whole(ends), axes, steps):
        parts[axis] = slice(start, None if step < 0 and end < -x.shape[axis] else end, step)
    return x[tuple(parts)]


def _unsqueeze(call, x, axes=None):
    axes = _whole(axes) if axes is not None else call.get("axes")
    return np.expand_dims(x, tuple(axes))


def _squeeze(call, x, axes=None):
    axes = _whole(axes) if axes is not None else call.get("axes")
    return np.squeeze(x, tuple(axes) if axes is not None else None)


def _equal(a, b):
    if a.number is None and b.number is None:
        return None if a != b else Size.of(1)
    difference = (a - b).number
    if difference is not None:
        return Size.of(int(difference == 0))
    free, number = (a, b) if a.number is None else (b, a)
    if number.number <= 0 and all(c > 0 for c in free.terms.values()):
        return Size.of(0)
    return None


def _equals(call, a, b):
    result = np.frompyfunc(lambda x, y: _equal(Size.of(x), Size.of(y)), 2, 1)(a, b)
    return None if any(r is None for r in np.asarray(result, object).flatten()) else result


def _where(call, condition, a, b):
    return np.where(np.array([bool(n) for n in _whole(condition)]).reshape(condition.shape), a, b)


def _cast(call, x):
    return x if type_name(call.get("to"), call.place) != "bool" else None


def _reduce_prod(call, x, axes=None):
    total = Size.of(1)
    for s in x.flatten().tolist():
        total = total * s
    return np.full([1] * x.ndim if call.get("keepdims", 1) else [], total, object) if x.ndim == 1 else None


def _range(call, start, limit, step):
    numbers = _whole(start) + _whole(limit) + _whole(step)
    return None if None in numbers or len(range(*numbers)) > MOST_KNOWN else np.array(range(*numbers), object)


def _constant_of_shape(call, shape):
    numbers = _whole(shape)
    if None in numbers or math.prod(numbers) > 64:
        return None
    from onnx import numpy_helper
    value = numpy_helper.to_array(call.get("value")) if call.get("value") is not None else np.zeros(1, np.float32)
    return np.full(numbers, Size.of(int(value.flatten()[0])), object) if value.dtype.kind in "iu" else None


def _expand(call, x, shape):
    numbers = _whole(shape)
    if None in numbers or any(n < 0 for n in numbers) or math.prod(numbers) > MOST_KNOWN:
        return None
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(numbers)))


_FUNCTIONS = {
    "Add": _elementwise(lambda a, b: a + b),
    "Sub": _elementwise(lambda a, b: a - b),
    "Mul": _elementwise(lambda a, b: a * b),
    "Div": _elementwise(_divide),
    "Mod": _elementwise(lambda a, b: a % b),
    "Max": _elementwise(lambda a, b: a.largest(b)),
    "Min": _elementwise(lambda a, b: a.smallest(b)),
    "Neg": lambda call, x: -x,
    "Gather": _gather,
    "Slice": lambda call, x, *rest: _slice(call, x, *rest) if rest else None,
    "Concat": lambda call, *parts: np.concatenate(parts, call.get("axis")),
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Reshape": lambda call, x, shape: x.reshape(_whole(shape)),
    "Identity": lambda call, x: x,
    "Cast": _cast,
    "Equal": _equals,
    "Where": _where,
    "ReduceProd": _reduce_prod,
    "Range": _range,
    "ConstantOfShape": _constant_of_shape,
    "Expand": _expand,
}

"""Ops that change places and shapes."""

import numpy as np
from graph import MOST
from groups import MOST_JOINED

from lowering.builder import content_of, op
from lowering.elementwise import cast_to
from sizes import Size, product


@op("Reshape")
def reshape(b, c):
    x, wanted = c[0], c.contents(1, "shape")
    shape, open_at = [], None
    for d, s in enumerate(wanted):
        if s == 0 and not c.get("allowzero", 0):
            if d >= x.rank:
                c.fail(f"shape: 0 takes dimension {d} of an array that has {x.rank}")
            shape.append(x.shape[d])
        elif s == -1:
            if open_at is not None:
                c.fail("shape: -1 stands in it twice")
            open_at = d
            shape.append(Size.of(1))
        else:
            shape.append(s)
    if open_at is not None:
        shape[open_at] = quotient(x.shape, shape)
    return b.reshape(x, shape)


def quotient(shape, others):
    """The elements of a shape by those of another, factor by factor, so that no division is left where none is needed."""
    left, divisors = list(shape), [s for s in others if s != 1]
    for s in list(divisors):
        if s in left:
            left.remove(s)
            divisors.remove(s)
    return product(left) // product(divisors)


@op("Flatten")
def flatten(b, c):
    axis = c.number("axis", 1, -c[0].rank, c[0].rank)
    axis = axis + c[0].rank if axis < 0 else axis
    return b.reshape(c[0], [product(c[0].shape[:axis]), product(c[0].shape[axis:])])


@op("Squeeze")
def squeeze(b, c):
    axes = c.numbers(1, "axes", None)
    gone = set(c.axes(axes, c[0].rank)) if axes is not None else {d for d, s in enumerate(c[0].shape) if s == 1}
    return b.reshape(c[0], [s for d, s in enumerate(c[0].shape) if d not in gone])


@op("Unsqueeze")
def unsqueeze(b, c):
    axes = c.numbers(1, "axes")
    rank = c[0].rank + len(axes)
    new = set(c.axes(axes, rank))
    rest = iter(c[0].shape)
    return b.reshape(c[0], [Size.of(1) if d in new else next(rest) for d in range(rank)])


@op("Transpose")
def transpose(b, c):
    perm = c.get("perm", list(range(c[0].rank))[::-1])
    if sorted(perm) != list(range(c[0].rank)):
        c.fail(f"perm: {str(perm)[:80]} is no order of {c[0].rank} dimensions")
    return b.transpose(c[0], perm)


@op("Expand")
def expand(b, c):
    return b.broadcast(c[0], b.broadcast_shape([c[0].shape, tuple(c.contents(1))]))


@op("Tile")
def tile(b, c):
    repeats = c.contents(1)
    if len(repeats) != c[0].rank:
        c.fail(f"repeats: {len(repeats)} numbers for {c[0].rank} dimensions")
    if all(r == 1 for r in repeats):
        return c[0]
    return b.add("tile", [c[0]], [s * r for s, r in zip(c[0].shape, repeats)], c[0].type)


@op("Concat")
def concat(b, c):
    axis, shape = c.axis(c[0].rank), list(c[0].shape)
    for v in c.inputs[1:]:
        if v.rank != len(shape) or not all(d == axis or b.same(s, t, c.place) for d, (s, t) in enumerate(zip(shape, v.shape))):
            c.fail(f"shapes {b.shown([c[0].shape, v.shape])} do not go together")
    parts = [v for v in c.inputs if v.shape[axis] != 0]

    def joined(parts):
        if len(parts) == 1:
            return parts[0]
        shape[axis] = sum((v.shape[axis] for v in parts), Size.of(0))
        return b.add("concat", parts, list(shape), c[0].type, axis=axis)

    # Of more than one kernel's, what several have put together.
    while len(parts) > MOST_JOINED:
        parts = [joined(parts[i:i + MOST_JOINED]) for i in range(0, len(parts), MOST_JOINED)]
    return joined(parts)


@op("Split")
def split(b, c):
    axis = c.axis(c[0].rank)
    extent, count = c[0].shape[axis], len(c.node.output)
    parts = c.contents(1, "split")
    if parts is None:
        each = (extent + (count - 1)) // count
        parts = [each] * (count - 1) + [extent - each * (count - 1)]
    if len(parts) != count or not b.same(sum(parts, Size.of(0)), extent, c.place):
        c.fail(f"split: {len(parts)} parts of {str([str(p) for p in parts])[:80]} are not {count} that make {extent}")
    results, begin = [], Size.of(0)
    for part in parts:
        starts = [begin if d == axis else 0 for d in range(c[0].rank)]
        shape = [part if d == axis else s for d, s in enumerate(c[0].shape)]
        results.append(b.slice(c[0], starts, shape, [1] * c[0].rank))
        begin = begin + part
    return results


@op("Slice")
def slice_(b, c):
    x = c[0]
    starts, ends = c.contents(1, "starts"), c.contents(2, "ends")
    axes = c.numbers(3, "axes", list(range(len(starts))))
    steps = c.numbers(4, None, [1] * len(starts))
    if not len(starts) == len(ends) == len(axes) == len(steps):
        c.fail(f"starts, ends, axes and steps have {len(starts)}, {len(ends)}, {len(axes)} and {len(steps)} numbers")
    axes = c.axes(axes, x.rank)
    for step in steps:
        if int(step) == 0 or abs(int(step)) > MOST:
            c.fail(f"steps: {step} is no number from 1 to {MOST}, or below 0")
    first, shape, strides = [Size.of(0)] * x.rank, list(x.shape), [1] * x.rank
    for start, end, axis, step in zip(starts, ends, axes, steps):
        first[axis], shape[axis] = bounds(x.shape[axis], start, end, int(step))
        strides[axis] = int(step)
    return b.slice(x, first, shape, strides)


def bounds(extent, start, end, step):
    """The first element of a slice, and how many it has."""
    start, end = position(extent, start, step, False), position(extent, end, step, True)
    if step > 0:
        return start, (end - start + (step - 1)) // step
    return start, (start - end + (-step - 1)) // -step


def position(extent, at, step, is_end):
    lowest = Size.of(0) if step > 0 else Size.of(-1 if is_end else 0)
    highest = extent if step > 0 else extent - 1
    number = at.number
    if number is not None and number < 0:
        if number <= -(1 << 31):
            return lowest
        at = extent + number
        return at if number == -1 else at.largest(lowest)
    if number is not None and number >= (1 << 31) - 1:
        return highest
    if number == 0 or at == extent:
        return at if step > 0 or number == 0 else highest
    return at.smallest(highest)


def check_indices(b, c, indices, size):
    """Known indices are of elements that a dimension of this size has. Others are checked where they are used: those of none are of its first
    or last element."""
    if indices is None or indices.size == 0:
        return
    low, high = int(indices.min()), int(indices.max())
    if not b.at_least(size, Size.of(max(high + 1, -low)), c.place):
        c.fail(f"indices: {high if high + 1 >= -low else low} is none of {size}")


def columns_of(indices, depth):
    """The known indices of each of `depth` dimensions, which stand side by side."""
    return [None if indices.constant is None else indices.constant[..., d] for d in range(depth)]


@op("Gather")
def gather(b, c):
    x, indices = c[0], c[1]
    axis = c.axis(x.rank)
    check_indices(b, c, indices.constant, x.shape[axis])
    if indices.constant is not None and indices.constant.size == 1 and x.shape[axis].number is not None or \
            indices.constant is not None and indices.constant.size == 1 and int(indices.constant.flatten()[0]) in (0, -1):
        at = int(indices.constant.flatten()[0])
        starts = [Size.of(0)] * x.rank
        starts[axis] = x.shape[axis] + at if at < 0 else Size.of(at)
        part = b.slice(x, starts, [Size.of(1) if d == axis else s for d, s in enumerate(x.shape)], [1] * x.rank)
        return b.reshape(part, x.shape[:axis] + indices.shape + x.shape[axis + 1:])
    return b.add("gather", [x, indices], x.shape[:axis] + indices.shape + x.shape[axis + 1:], x.type, axis=axis)


@op("GatherElements")
def gather_elements(b, c):
    if c[0].rank != c[1].rank:
        c.fail(f"indices have {c[1].rank} dimensions, the data {c[0].rank}")
    axis = c.axis(c[0].rank)
    for d, (most, size) in enumerate(zip(c[0].shape, c[1].shape)):
        if d != axis and not b.at_least(most, size, c.place):
            c.fail(f"indices have {size} elements in dimension {d}, the data {most}")
    check_indices(b, c, c[1].constant, c[0].shape[axis])
    return b.add("gather_elements", [c[0], c[1]], c[1].shape, c[0].type, axis=axis)


@op("GatherND")
def gather_nd(b, c):
    x, where, batch = c[0], c[1], c.number("batch_dims", 0, 0, max(min(c[0].rank, c[1].rank) - 1, 0))
    depth = where.shape[-1].number if where.rank else None
    if depth is None:
        c.fail("the last dimension of the indices has to be a number")
    if not 1 <= depth <= x.rank - batch:
        c.fail(f"indices: {depth} numbers for {x.rank - batch} dimensions")
    for d in range(batch):
        if not b.same(where.shape[d], x.shape[d], c.place):
            c.fail(f"indices have {where.shape[d]} elements in dimension {d} of the batch, the data {x.shape[d]}")
    for known, size in zip(columns_of(where, depth), x.shape[batch:]):
        check_indices(b, c, known, size)
    return b.add("gather_nd", [x, where], where.shape[:-1] + x.shape[batch + depth:], x.type, batch=batch, depth=depth)


@op("Pad")
def pad(b, c):
    x, pads = c[0], c.contents(1, "pads")
    axes = c.axes(c.numbers(3, None, list(range(x.rank))), x.rank)
    if len(pads) != 2 * len(axes) or any(p.number is not None and abs(p.number) > MOST for p in pads):
        c.fail(f"pads: {2 * len(axes)} numbers of 32 bits are wanted, not {str([str(p) for p in pads])[:80]}")
    before, after = [Size.of(0)] * x.rank, [Size.of(0)] * x.rank
    for i, axis in enumerate(axes):
        before[axis], after[axis] = pads[i], pads[i + len(axes)]
    if all(p == 0 for p in before + after):
        return x
    value = c[2] if c[2] is not None else b.scalar(c.get("value", 0), x.type)
    shape = [s + p + q for s, p, q in zip(x.shape, before, after)]
    return b.add("pad", [x, b.reshape(value, ())], shape, x.type, before=[str(p) for p in before], mode=c.get("mode", "constant"))


@op("DepthToSpace")
def depth_to_space(b, c):
    c.rank(0, 4, "the image")
    n, channels, h, w = c[0].shape
    k = c.number("blocksize", 0, 1, 1 << 15)
    if c.get("mode", "DCR") == "DCR":
        x = b.transpose(b.reshape(c[0], [n, k, k, channels // (k * k), h, w]), [0, 3, 4, 1, 5, 2])
    else:
        x = b.transpose(b.reshape(c[0], [n, channels // (k * k), k, k, h, w]), [0, 1, 4, 2, 5, 3])
    return b.reshape(x, [n, channels // (k * k), h * k, w * k])


@op("SpaceToDepth")
def space_to_depth(b, c):
    c.rank(0, 4, "the image")
    n, channels, h, w = c[0].shape
    k = c.number("blocksize", 0, 1, 1 << 15)
    x = b.transpose(b.reshape(c[0], [n, channels, h // k, k, w // k, k]), [0, 3, 5, 1, 2, 4])
    return b.reshape(x, [n, channels * k * k, h // k, w // k])


@op("ConstantOfShape")
def constant_of_shape(b, c):
    value = c.get("value")
    from onnx import numpy_helper
    array = numpy_helper.to_array(value).reshape(()) if value is not None else np.zeros((), np.float32)
    return b.broadcast(b.constant(array), c.contents(0))


def whole(value):
    """One whole number that is known before a call, of floats, too."""
    if value.constant is not None and value.constant.size == 1:
        number = float(value.constant.flatten()[0])
        return [Size.of(int(number))] if number == int(number) else None
    content = content_of(value)
    return [Size.of(s) for s in content.flatten().tolist()] if content is not None and content.size == 1 else None


@op("Range")
def range_(b, c):
    start, limit, step = (whole(c[i]) for i in range(3))
    if None in (start, limit, step) or step[0].number is None:
        c.fail("the limits of a Range have to be whole numbers that depend on sizes only")
    if step[0] == 0:
        c.fail("delta: a Range does not go on by 0")
    span = limit[0] - start[0] if step[0].number > 0 else start[0] - limit[0]
    count = (span + (abs(step[0].number) - 1)) // abs(step[0].number)
    values = [b.reshape(b.stored(b.sizes([v], c[0].type)), ()) for v in (start[0], step[0])]
    return b.add("range", values, [count], c[0].type)


@op("Trilu")
def trilu(b, c):
    x, k = c[0], b.reshape(c[1], ()) if c[1] is not None else b.scalar(0, "int64")
    rows, cols = (b.add("range", [b.scalar(0, "int64"), b.scalar(1, "int64")], [s], "int64") for s in x.shape[-2:])
    rows = b.map("add", b.reshape(rows, [x.shape[-2], 1]), k)
    kept = b.map("less_equal", rows, cols, type_="bool") if c.get("upper", 1) else b.map("less_equal", cols, rows, type_="bool")
    return b.map("where", kept, x, b.scalar(0, x.type), type_=x.type)


@op("OneHot")
def one_hot(b, c):
    indices, depth, values = c[0], c.contents(1)[0], c[2]
    axis = c.normal(c.get("axis", -1), indices.rank + 1)
    off, on = (b.reshape(b.slice(values, [i], [1], [1]), ()) for i in (0, 1))
    places = b.add("range", [b.scalar(0, "int64"), b.scalar(1, "int64")], [depth], "int64")
    places = b.reshape(places, [depth] + [1] * (indices.rank - axis))
    wanted = cast_to(b, b.reshape(indices, [*indices.shape[:axis], 1, *indices.shape[axis:]]), "int64")
    if not indices.type.startswith("u"):  # -depth to -1 count from the end; what else is none of the depth is off
        from_end = b.map("add", wanted, cast_to(b, b.reshape(b.stored(b.sizes([depth])), ()), "int64"))
        wanted = b.map("where", b.map("less", wanted, b.scalar(0, "int64"), type_="bool"), from_end, wanted, type_="int64")
    return b.map("where", b.map("equal", wanted, places, type_="bool"), on, off, type_=values.type)


MOST_PLACES = 1 << 24


@op("Resize", "Upsample")
def resize(b, c):
    x, mode = c[0], c.get("mode", "nearest")
    upsample = c.node.op_type == "Upsample"
    scales = c.numbers(1, "scales") if upsample else c.numbers(2, None, None) if c.version > 10 else c.numbers(1)
    targets = None if upsample or c.version <= 10 else c.contents(3, None, None)
    coordinates = c.get("coordinate_transformation_mode", "asymmetric" if upsample or c.version <= 10 else "half_pixel")
    axes = c.axes(c.get("axes", list(range(x.rank))), x.rank)
    for name, given in (("sizes", targets), ("scales", scales)):
        if given and len(given) != len(axes):
            c.fail(f"{name}: {len(given)} numbers for {len(axes)} dimensions")
    if not targets and not scales:
        c.fail("scales and sizes are both missing")
    if mode not in ("nearest", "linear") or c.get("antialias", 0) or c.get("keep_aspect_ratio_policy", "stretch") != "stretch" or \
            coordinates not in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
        c.fail(f"Resize with mode {mode}, {coordinates} and these options is not supported")
    shape, factors = list(x.shape), [0.0] * x.rank
    for i, axis in enumerate(axes):
        if targets:
            shape[axis] = targets[i]
        else:
            factors[axis] = float(scales[i])
            shape[axis] = scaled(c, x.shape[axis], factors[axis])
    if tuple(shape) == x.shape:
        return x
    # Places are counted in f32, of which numbers beyond have no neighbours.
    for d, sizes in enumerate(zip(x.shape, shape)):
        for size in sizes if sizes[0] != sizes[1] else ():
            if not b.at_least(Size.of(MOST_PLACES), size, c.place):
                c.fail(f"{size} places along dimension {d} are more than 2^24")
    return b.add("resize", [x], shape, x.type, mode=mode, coordinates=coordinates,
                 nearest=c.get("nearest_mode", "floor" if upsample or c.version <= 10 else "round_prefer_floor"),
                 scales=factors, axes=[s != t for s, t in zip(shape, x.shape)])


def scaled(c, extent, factor):
    if not 0 < factor <= MOST:
        c.fail(f"scales: {factor} is no number above 0 of 32 bits")
    if factor == int(factor):
        return extent * int(factor)
    if extent.number is not None:
        return Size.of(int(np.floor(extent.number * factor)))
    inverse = 1 / factor
    if abs(inverse - round(inverse)) < 1e-6:
        return extent // round(inverse)
    return c.fail(f"a free dimension cannot be scaled by {factor}")

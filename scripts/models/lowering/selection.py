"""Ops that choose elements by what they are or where they stand: the largest of a row, the rows of a sequence backwards, points of an image."""

import numpy as np

from lowering.builder import op, type_name
from lowering.elementwise import cast_to
from lowering.moves import check_indices, columns_of
from sizes import Size

MOST_COMPARED = 1 << 14  # elements of a row of TopK, each of which is compared with all others


def positions(b, size, rank, axis, type_):
    """0, 1, ... along one dimension of `rank`."""
    counted = b.add("range", [b.scalar(0, type_), b.scalar(1, type_)], [size], type_)
    return b.reshape(counted, [size if d == axis else 1 for d in range(rank)])


def number_of(b, size, type_):
    """A Size as a number of some type."""
    return cast_to(b, b.reshape(b.stored(b.sizes([size])), ()), type_)


@op("TopK")
def top_k(b, c):
    """The rank of an element is how many stand before it; the one of rank r is found by its rank. A NaN counts as infinity, as ranks are
    those of an order."""
    axis = c.axis(c[0].rank, -1)
    rank = c[0].rank
    x, size = c[0], c[0].shape[axis]
    k = c.contents(1, "k")[0]
    if not b.at_least(size, k, c.place):
        c.fail(f"K is {k}, and the dimension has {size} elements")
    if size.number is not None and size.number > MOST_COMPARED:
        c.fail(f"rows of {size} elements are longer than {MOST_COMPARED}")
    last = [*(d for d in range(rank) if d != axis), axis]
    rows = b.transpose(x, last)
    outer = list(rows.shape[:-1])
    ordered = rows
    if x.type in ("float32", "float64", "float16", "bfloat16"):
        ordered = b.map("where", b.map("isnan", rows, type_="bool"), b.scalar(np.inf, x.type), rows, type_=x.type)
    mine, other = b.reshape(ordered, [*outer, size, 1]), b.reshape(ordered, [*outer, 1, size])
    here, there = positions(b, size, rank + 1, rank - 1, "int32"), positions(b, size, rank + 1, rank, "int32")
    pair = (mine, other) if c.get("largest", 1) else (other, mine)
    before = b.map("less", *pair, type_="bool")
    same = b.map("and", b.map("equal", mine, other, type_="bool"), b.map("less", there, here, type_="bool"), type_="bool")
    count = b.reduce("sum", cast_to(b, b.map("or", before, same, type_="bool"), "int32"), [rank], False)
    ranks, wanted = b.reshape(count, [*outer, 1, size]), positions(b, k, rank + 1, rank - 1, "int32")
    found = b.map("mul", cast_to(b, b.map("equal", ranks, wanted, type_="bool"), "int32"), there)
    index = cast_to(b, b.reduce("sum", found, [rank], False), "int64")
    values = b.add("gather_elements", [rows, index], index.shape, x.type, axis=rank - 1)
    back = list(np.argsort(last))
    return [b.transpose(values, [int(d) for d in back]), b.transpose(index, [int(d) for d in back])]


@op("ReverseSequence")
def reverse_sequence(b, c):
    x, lengths = c[0], c[1]
    time, batch = c.normal(c.get("time_axis", 0), x.rank, "time_axis"), c.normal(c.get("batch_axis", 1), x.rank, "batch_axis")
    if time == batch:
        c.fail("time_axis and batch_axis are the same")
    at = positions(b, x.shape[time], x.rank, time, "int64")
    length = b.reshape(cast_to(b, lengths, "int64"), [s if d == batch else 1 for d, s in enumerate(x.shape)])
    back = b.map("sub", b.map("sub", length, b.scalar(1, "int64")), at)
    place = b.map("where", b.map("less", at, length, type_="bool"), back, at, type_="int64")
    return b.add("gather_elements", [x, b.broadcast(place, x.shape)], x.shape, x.type, axis=time)


@op("EyeLike")
def eye_like(b, c):
    c.rank(0, 2, "the input")
    shape, k = c[0].shape, c.get("k", 0)
    type_ = type_name(c.get("dtype"), c.place) if c.get("dtype") else c[0].type
    rows, columns = positions(b, shape[0], 2, 0, "int64"), positions(b, shape[1], 2, 1, "int64")
    return cast_to(b, b.map("equal", b.map("add", rows, b.scalar(k, "int64")), columns, type_="bool"), type_)


@op("GridSample")
def grid_sample(b, c):
    """Of an image [n, c, h, w]: the pixels around each point, by how near they are."""
    x, grid = c[0], c[1]
    c.rank(0, 4, "X")
    mode, padding, aligned = c.get("mode", "linear"), c.get("padding_mode", "zeros"), c.get("align_corners", 0)
    if mode not in ("linear", "bilinear", "nearest") or padding not in ("zeros", "border"):
        c.fail(f"mode {mode} with padding_mode {padding} is not supported: linear and nearest with zeros and border are")
    n, _, h, w = x.shape
    out_h, out_w = grid.shape[1], grid.shape[2]
    image = b.transpose(x, [0, 2, 3, 1])

    def coordinate(i, size):
        at = b.slice(grid, [Size.of(0)] * 3 + [Size.of(i)], [n, out_h, out_w, 1], [1] * 4)
        length = number_of(b, size, x.type)
        if aligned:
            return b.map("mul", b.with_number("mul", b.with_number("add", at, 1), 0.5), b.with_number("sub", length, 1))
        return b.with_number("mul", b.with_number("sub", b.map("mul", b.with_number("add", at, 1), length), 1), 0.5)

    def corner(row, column):
        """The pixels there, and whether they are any."""
        inside, places = None, []
        for at, size in ((row, h), (column, w)):
            last = number_of(b, size - 1, x.type)
            held = b.map("min", b.with_number("max", at, 0), last)
            inside = b.map("equal", at, held, type_="bool") if inside is None else b.map("and", inside, b.map("equal", at, held, type_="bool"), type_="bool")
            places.append(cast_to(b, held, "int64"))
        where = b.add("concat", places, [n, out_h, out_w, 2], "int64", axis=3)
        pixels = b.add("gather_nd", [image, where], [n, out_h, out_w, x.shape[1]], x.type, batch=1, depth=2)
        return b.map("where", inside, pixels, b.scalar(0, x.type), type_=x.type) if padding == "zeros" else pixels
    column, row = coordinate(0, w), coordinate(1, h)
    if padding == "border":
        row = b.map("min", b.with_number("max", row, 0), number_of(b, h - 1, x.type))
        column = b.map("min", b.with_number("max", column, 0), number_of(b, w - 1, x.type))
    if mode == "nearest":
        return b.transpose(corner(b.map("round", row), b.map("round", column)), [0, 3, 1, 2])
    top, left = b.map("floor", row), b.map("floor", column)
    down, right = b.map("sub", row, top), b.map("sub", column, left)
    total = None
    for r in (0, 1):
        for s in (0, 1):
            part = corner(b.with_number("add", top, r), b.with_number("add", left, s))
            near = b.map("mul", down if r else b.map("sub", b.scalar(1, x.type), down), right if s else b.map("sub", b.scalar(1, x.type), right))
            weighed = b.map("mul", part, near)
            total = weighed if total is None else b.map("add", total, weighed)
    return b.transpose(total, [0, 3, 1, 2])


@op("GlobalLpPool")
def global_lp_pool(b, c):
    p = c.get("p", 2)
    total = b.reduce("sum", b.map("pow", b.map("abs", c[0]), b.scalar(p, c[0].type)), list(range(2, c[0].rank)), True)
    return b.map("pow", total, b.scalar(1.0 / p, c[0].type))


@op("ScatterElements", "Scatter")
def scatter_elements(b, c):
    x, where, updates = c[0], c[1], c[2]
    c.rank(1, x.rank, "indices")
    c.rank(2, x.rank, "updates")
    axis = c.axis(x.rank)
    for d, (most, size, given) in enumerate(zip(x.shape, where.shape, updates.shape)):
        if not b.same(size, given, c.place) or d != axis and not b.at_least(most, size, c.place):
            c.fail(f"indices have {size} elements in dimension {d}, updates {given}, the data {most}")
    check_indices(b, c, where.constant, x.shape[axis])
    return b.add("scatter", [x, where, updates], x.shape, x.type, axis=axis, depth=0, reduction=reduction_of(c))


@op("ScatterND")
def scatter_nd(b, c):
    x, where, updates = c[0], c[1], c[2]
    depth = where.shape[-1].number if where.rank else None
    if depth is None or depth > x.rank or updates.rank != where.rank - 1 + x.rank - depth:
        c.fail(f"indices of shape {b.shown([where.shape])} do not go with arrays of {x.rank} and {updates.rank} dimensions")
    for size, given in zip([*where.shape[:-1], *x.shape[depth:]], updates.shape):
        if not b.same(size, given, c.place):
            c.fail(f"updates of shape {b.shown([updates.shape])} do not go with indices of shape {b.shown([where.shape])}")
    for known, size in zip(columns_of(where, depth), x.shape):
        check_indices(b, c, known, size)
    return b.add("scatter", [x, where, updates], x.shape, x.type, axis=-1, depth=depth, reduction=reduction_of(c))


def reduction_of(c):
    how = c.get("reduction", "none")
    if how not in ("none", "add", "mul", "min", "max"):
        c.fail(f"reduction: {str(how)[:80]} is none of add, mul, min, max and none")
    return how

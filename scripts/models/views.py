"""Strided views: where the elements of an array lie in another one that is stored.

Of each dimension a view has its factors, (extent, stride) from the outermost on: one, where it lies evenly; several, where a reshape made one
dimension of some that do not lie behind each other; none, where it has one element. Transposes, reshapes, slices and broadcasts of a view are
views, as long as every dimension that is split has factors that divide.
"""

from sizes import Size, product

MOVES = ("reshape", "transpose", "broadcast", "slice")


class View:
    """`offset` and strides count elements of `base`, the Value that is stored."""

    def __init__(self, base, dims, offset=0):
        self.base, self.dims, self.offset = base, dims, Size.of(offset)

    @staticmethod
    def of(base, shape=None, strides=None, offset=0):
        """Of a whole array, which lies dense where no strides are given."""
        shape = [Size.of(s) for s in (base.shape if shape is None else shape)]
        if strides is None:
            strides = [product(shape[d + 1:]) for d in range(len(shape))]
        return View(base, [factor(s, t) for s, t in zip(shape, strides)], offset)

    @property
    def shape(self):
        """Of a view whose dimensions lie evenly."""
        return [d[0][0] if d else Size.of(1) for d in self.dims]

    @property
    def strides(self):
        """Of dimensions of one element as they would be in an array that lies dense."""
        made, dense = [], Size.of(1)
        for d in reversed(self.dims):
            made.insert(0, d[0][1] if d else dense)
            dense = made[0] * (d[0][0] if d else 1)
        return made

    @property
    def is_dense(self):
        shape = self.shape
        return all(not d or d[0][0] == 1 or d[0][1] == product(shape[i + 1:]) for i, d in enumerate(self.dims))

    def moved(self, node):
        """What a move makes of it, or None where that is no view."""
        a = node.attributes
        if node.op == "transpose":
            return View(self.base, [self.dims[p] for p in a["perm"]], self.offset)
        if node.op == "reshape":
            return self.reshaped(a["runs"], node.output.shape)
        if node.op == "broadcast":
            return self.broadcast(node.inputs[0].shape, node.output.shape)
        return self.sliced(node)

    def before(self, node):
        """The view of a move's input, where this is one of its result: to see where results go."""
        a = node.attributes
        if node.op == "transpose":
            return View(self.base, [self.dims[a["perm"].index(d)] for d in range(len(self.dims))], self.offset)
        if node.op == "reshape":
            return self.reshaped([[after, before] for before, after in a["runs"]], node.inputs[0].shape)
        return None

    def reshaped(self, runs, shape):
        made = [None] * len(shape)
        for before, after in runs:
            parts = split([f for d in before for f in self.dims[d]], [shape[d] for d in after])
            if parts is None:
                return None
            for d, part in zip(after, parts):
                made[d] = part
        return View(self.base, made, self.offset)

    def broadcast(self, shape, wanted):
        """As numpy broadcasts an array of `shape`, which this is a view of."""
        left = len(wanted) - len(shape)
        dims = [self.dims[d - left] if d >= left and shape[d - left] == size else factor(size, 0) for d, size in enumerate(wanted)]
        return View(self.base, dims, self.offset)

    def sliced(self, node):
        offset, dims = self.offset, []
        for mine, start, step, before, after in zip(self.dims, node.attributes["starts"], node.attributes["steps"], node.inputs[0].shape,
                                                    node.output.shape):
            if before == after and start == "0" and step == 1:
                dims.append(mine)
                continue
            mine = merged(mine)
            if not start.isdigit() or step < 1 or len(mine) > 1:
                return None
            stride = mine[0][1] if mine else Size.of(0)
            offset = offset + stride * int(start)
            dims.append(factor(after, stride * step))
        return View(self.base, dims, offset)


def factor(extent, stride):
    extent = Size.of(extent)
    return [] if extent == 1 else [(extent, Size.of(stride))]


def merged(factors):
    """With those that lie behind each other as one."""
    made = []
    for extent, stride in factors:
        if made and made[-1][1] == extent * stride:
            made[-1] = (made[-1][0] * extent, stride)
        else:
            made.append((extent, stride))
    return made


def split(factors, extents):
    """The factors of dimensions of these extents, which have as many elements; None where they do not divide."""
    rest, made = merged(factors), []
    for extent in reversed(extents):
        own, wanted = [], extent
        while wanted != 1:
            if not rest:
                return None
            e, stride = rest.pop()
            if e == wanted:
                own.insert(0, (e, stride))
                break
            if (more := e.exactly_divided(wanted)) is not None:
                own.insert(0, (wanted, stride))
                rest.append((more, stride * wanted))
                break
            if (more := wanted.exactly_divided(e)) is None:
                return None
            own.insert(0, (e, stride))
            wanted = more
        made.insert(0, own)
    return made if not rest else None


def refined(lists):
    """Lists of factors of as many elements each, cut so that all have the same extents; None where they do not divide."""
    rest, made = [list(reversed(x)) for x in lists], [[] for _ in lists]
    while any(rest):
        if not all(rest):
            return None
        heads = [r.pop() for r in rest]
        extent = next((e for e, _ in heads if all(o.exactly_divided(e) is not None for o, _ in heads)), None)
        if extent is None:
            return None
        for (e, stride), r, m in zip(heads, rest, made):
            inner = e.exactly_divided(extent)
            m.append((extent, stride * inner))
            if inner != 1:
                r.append((inner, stride))
    return made


def joined(lists):
    """Refined lists, with neighbours as one factor where they lie behind each other in all of them."""
    made = [x[:1] for x in lists]
    for i in range(1, len(lists[0])):
        together = all(m[-1][1] == x[i][0] * x[i][1] for m, x in zip(made, lists))
        for m, x in zip(made, lists):
            if together:
                m[-1] = (m[-1][0] * x[i][0], x[i][1])
            else:
                m.append(x[i])
    return made

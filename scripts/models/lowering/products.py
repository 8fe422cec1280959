"""Products, convolutions and pooling."""

import numpy as np
from graph import MOST

from lowering.builder import op
from sizes import Size, product


@op("MatMul")
def matmul(b, c):
    x, y = c[0], c[1]
    left, right = x.rank == 1, y.rank == 1
    x = b.reshape(x, [1, x.shape[0]]) if left else x
    y = b.reshape(y, [y.shape[0], 1]) if right else y
    if not b.same(x.shape[-1], y.shape[-2], c.place):
        c.fail(f"shapes {b.shown([x.shape, y.shape])} do not multiply")
    batch = b.broadcast_shape([x.shape[:-2], y.shape[:-2]]) if x.rank > 2 or y.rank > 2 else ()
    z = b.add("matmul", [x, y], [*batch, x.shape[-2], y.shape[-1]], x.type)
    return b.reshape(z, [*batch, *([] if left else [x.shape[-2]]), *([] if right else [y.shape[-1]])])


@op("Gemm")
def gemm(b, c):
    c.rank(0, 2, "A")
    c.rank(1, 2, "B")
    x = b.transpose(c[0], [1, 0]) if c.get("transA", 0) else c[0]
    y = b.transpose(c[1], [1, 0]) if c.get("transB", 0) else c[1]
    if not b.same(x.shape[-1], y.shape[-2], c.place):
        c.fail(f"shapes {b.shown([x.shape, y.shape])} do not multiply")
    z = b.add("matmul", [x, y], [x.shape[0], y.shape[1]], x.type)
    if c.get("alpha", 1.0) != 1:
        z = b.with_number("mul", z, c.get("alpha"))
    if c[2] is None or c.get("beta", 1.0) == 0:
        return z
    bias = c[2] if c.get("beta", 1.0) == 1 else b.with_number("mul", c[2], c.get("beta"))
    return b.map("add", z, bias)


class Window:
    """What conv and pool have in common: how the window goes over the image."""

    def __init__(self, b, c, x, kernel):
        self.spatial = len(kernel)
        self.kernel = kernel
        if x.rank != self.spatial + 2:
            c.fail(f"kernel_shape: {self.spatial} numbers do not go with an image of {x.rank} dimensions")
        self.strides = c.list("strides", [1] * self.spatial, self.spatial, 1)
        self.dilations = c.list("dilations", [1] * self.spatial, self.spatial, 1)
        reach = [d * (k - 1) + 1 for d, k in zip(self.dilations, kernel)]
        if any(n > MOST for n in reach):
            c.fail(f"dilations: a window of {kernel} with dilations of {self.dilations} reaches beyond 32 bits")
        pads = [Size.of(p) for p in c.list("pads", [0] * (2 * self.spatial), 2 * self.spatial)]
        self.before, self.after = pads[:self.spatial], pads[self.spatial:]
        auto = c.get("auto_pad", "NOTSET")
        image = x.shape[2:]
        if auto == "VALID":
            self.before = self.after = [Size.of(0)] * self.spatial
        elif auto.startswith("SAME"):
            for s in range(self.spatial):
                out = (image[s] + (self.strides[s] - 1)) // self.strides[s]
                total = ((out - 1) * self.strides[s] + reach[s] - image[s]).largest(Size.of(0))
                small = total // 2
                self.before[s], self.after[s] = (small, total - small) if auto == "SAME_UPPER" else (total - small, small)
        self.shape = []
        for s in range(self.spatial):
            room = image[s] + self.before[s] + self.after[s] - reach[s]
            if c.get("ceil_mode", 0):
                out = (room + (self.strides[s] - 1)) // self.strides[s] + 1
                # A window that would begin in the padding behind is left out.
                last = (image[s] + self.before[s] - 1) // self.strides[s] + 1
                out = out.smallest(last) if out != last else out
            else:
                out = room // self.strides[s] + 1
            self.shape.append(out)
        b.bound(product([*x.shape[:2], *[image[s] + self.before[s] + self.after[s] for s in range(self.spatial)]]), "pads: the image with its padding")
        self.inside = [self.before[s] == 0 and self.after[s] == 0 and not c.get("ceil_mode", 0) for s in range(self.spatial)]

    def attributes(self):
        return {"kernel": list(self.kernel), "strides": list(self.strides), "dilations": list(self.dilations),
                "before": [str(p) for p in self.before], "after": [str(p) for p in self.after], "inside": self.inside}


def kernel_of(c, x, w):
    if w is None or w.rank != x.rank or w.rank < 3:
        c.fail(f"W has {'no' if w is None else w.rank} dimensions, and the image {x.rank}")
    kernel = [s.number for s in w.shape[2:]]
    if None in kernel:
        c.fail("the window of a convolution has to be of known size")
    if c.get("kernel_shape", kernel) != kernel:
        c.fail(f"kernel_shape: {str(c.get('kernel_shape'))[:80]} is not that of the weights, {kernel}")
    return kernel


def check_bias(b, c, channels):
    if c[2] is not None and (c[2].rank != 1 or not b.same(c[2].shape[0], channels, c.place)):
        c.fail(f"B has the shape {b.shown([c[2].shape])}; {channels} numbers are wanted")


@op("Conv")
def conv(b, c):
    x, w, groups = c[0], c[1], c.number("group", 1, 1)
    window = Window(b, c, x, kernel_of(c, x, w))
    check_bias(b, c, w.shape[0])
    if w.shape[0].number is None or w.shape[0].number % groups != 0:
        c.fail(f"group: {groups} groups do not divide {w.shape[0]} channels")
    if not b.same(x.shape[1], w.shape[1] * groups, c.place):
        c.fail(f"weights of shape {b.shown([w.shape])} do not go with an image of {b.shown([x.shape])} and {groups} groups")
    inputs = [x, w] if c[2] is None else [x, w, c[2]]
    return b.add("conv", inputs, [x.shape[0], w.shape[0], *window.shape], x.type, groups=groups, **window.attributes())


@op("ConvTranspose")
def conv_transpose(b, c):
    x, w, groups = c[0], c[1], c.number("group", 1, 1)
    kernel = kernel_of(c, x, w)
    spatial = len(kernel)
    strides, dilations = c.list("strides", [1] * spatial, spatial, 1), c.list("dilations", [1] * spatial, spatial, 1)
    more = c.list("output_padding", [0] * spatial, spatial)
    pads = [Size.of(p) for p in c.list("pads", [0] * (2 * spatial), 2 * spatial)]
    check_bias(b, c, w.shape[1] * groups)
    if x.shape[1].number is None or x.shape[1].number % groups != 0 or x.shape[1] != w.shape[0]:
        c.fail(f"weights of shape {b.shown([w.shape])} do not go with an image of {b.shown([x.shape])} and {groups} groups")
    whole = [(x.shape[2 + s] - 1) * strides[s] + more[s] + dilations[s] * (kernel[s] - 1) + 1 for s in range(spatial)]
    auto, given = c.get("auto_pad", "NOTSET"), c.get("output_shape")
    given = c.list("output_shape", given, spatial, 1) if given is not None else None
    if given is not None or auto.startswith("SAME"):
        given = [Size.of(n) for n in given] if given is not None else [x.shape[2 + s] * strides[s] for s in range(spatial)]
        for s in range(spatial):
            total = (whole[s] - given[s]).largest(Size.of(0))
            half = total // 2
            pads[s] = total - half if auto == "SAME_LOWER" else half
            pads[spatial + s] = total - pads[s]
        shape = given
    else:
        shape = [whole[s] - pads[s] - pads[spatial + s] for s in range(spatial)]
    inputs = [x, w] if c[2] is None else [x, w, c[2]]
    return b.add("conv_transpose", inputs, [x.shape[0], w.shape[1] * groups, *shape], x.type, groups=groups, kernel=kernel,
                 strides=list(strides), dilations=list(dilations), before=[str(p) for p in pads[:spatial]], after=[], inside=[])


@op("MaxPool")
def max_pool(b, c):
    if len(c.node.output) > 1 and c.node.output[1]:
        c.fail("the indices of MaxPool are not supported")
    window = Window(b, c, c[0], c.list("kernel_shape", None, None, 1))
    return b.add("pool", [c[0]], [*c[0].shape[:2], *window.shape], c[0].type, fn="max", **window.attributes())


@op("AveragePool")
def average_pool(b, c):
    window = Window(b, c, c[0], c.list("kernel_shape", None, None, 1))
    return b.add("pool", [c[0]], [*c[0].shape[:2], *window.shape], c[0].type, fn="mean", count_padding=bool(c.get("count_include_pad", 0)),
                 **window.attributes())


@op("LpPool")
def lp_pool(b, c):
    """The mean of a window that counts its padding, which is 0, times its elements is the sum."""
    if c.get("ceil_mode", 0):
        c.fail("ceil_mode is not supported")
    x, p = c[0], float(c.number("p", 2, 1))
    window = Window(b, c, x, c.list("kernel_shape", None, None, 1))
    powers = b.map("mul", x, x) if p == 2 else b.map("pow", b.map("abs", x), b.scalar(p, x.type))
    total = b.add("pool", [powers], [*x.shape[:2], *window.shape], x.type, fn="mean", count_padding=True, **window.attributes())
    total = b.with_number("mul", total, float(np.prod(window.kernel)))
    return b.map("sqrt", total) if p == 2 else b.map("pow", total, b.scalar(1 / p, x.type))


@op("GlobalAveragePool")
def global_average(b, c):
    from lowering.reductions import mean_of
    return mean_of(b, c[0], list(range(2, c[0].rank)), True)


@op("GlobalMaxPool")
def global_max(b, c):
    return b.reduce("max", c[0], list(range(2, c[0].rank)), True)


@op("LRN")
def lrn(b, c):
    """A sum over neighbouring channels: a pool of one channel with the channels as its image."""
    x, size = c[0], c.number("size", None, 1, 1 << 16)
    square = b.reshape(b.map("mul", x, x), [x.shape[0], 1, x.shape[1], *x.shape[2:]])
    kernel = [size] + [1] * (x.rank - 2)
    before = [(size - 1) // 2] + [0] * (x.rank - 2)
    ones = b.scalar(np.ones([1, 1, *kernel]), x.type)
    total = b.add("conv", [square, ones], square.shape, x.type, groups=1, kernel=kernel, strides=[1] * len(kernel),
                  dilations=[1] * len(kernel), before=before, after=[size - 1 - before[0]] + [0] * (x.rank - 2),
                  inside=[False] + [True] * (x.rank - 2))
    total = b.reshape(total, x.shape)
    base = b.with_number("add", b.with_number("mul", total, c.get("alpha", 1e-4) / size), c.get("bias", 1.0))
    return b.map("div", x, b.map("pow", base, b.scalar(c.get("beta", 0.75), x.type)))

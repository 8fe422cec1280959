"""A convolution with channels innermost and its epilogue, as a kernel that serves other sizes, too.

Sizes that kernels of the same form differ in are arguments: rows, channels, and the batch. The pixels of a row are known where the model
says them, as tiles of registers divide them. A window of one pixel is a product of matrices, whose rows are the pixels of all images.
"""

from sizes import Size, product

FEW = 4  # channels of an image that stand in the code


class Form:
    """Shapes of a group's values as the kernel has them, with the Sizes of the call, and the names that it uses for free ones."""

    def __init__(self, conv):
        self.conv = conv
        self.sizes = {}   # name: Size
        self.shapes = {}  # Value: (as in the form, as in the call)
        self.attributes = {}

    def size(self, name, size, known):
        """A number in the form, or an argument."""
        if size.number is not None and (known or size.number == 1):
            return size.number
        self.sizes[name] = size
        return "_" + name  # dimensions of models begin with a letter


def form_of(group):
    """None where the group is no such convolution."""
    convs = [n for n in group.nodes if n.op == "conv" and n.attributes.get("last")]
    if len(convs) != 1 or convs[0].attributes["panel"] < 0 or any(not n.is_map and n.op not in ("conv", "transpose") for n in group.nodes):
        return None
    conv = convs[0]
    made, a, result = Form(conv), conv.attributes, group.output
    x, y = conv.inputs[0], conv.output
    if result.shape != y.shape or any(n.is_map and n.output.shape != y.shape for n in group.nodes):
        return None
    moves = [n for n in group.nodes if n.op == "transpose"]
    if len(moves) > 1 or moves and moves[0].output is not x:
        return None
    operands = [v for n in group.nodes if n.is_map for v in n.inputs if v.node not in group.nodes]
    one_pixel = all(k == 1 for k in a["kernel"] + a["strides"]) and all(a["inside"]) and a["panel"] > 0 and not moves
    if one_pixel and all(v.elements == 1 or v.shape == y.shape or v.elements == y.shape[-1] and v.shape[-1] == y.shape[-1] for v in operands):
        return of_product(made, group, operands)
    channels = made.size("out_channels", y.shape[-1], y.shape[-1].number is not None and y.shape[-1].number <= FEW)
    batch = made.size("batch", y.shape[0], False)
    last = y.rank - 2
    shape = [batch, *[made.size(f"extent_{d}", s, d == last) for d, s in enumerate(y.shape[1:-1], 1)], channels]
    in_channels = channels if a["panel"] == 0 else made.size("in_channels", x.shape[-1], x.shape[-1].number is not None and x.shape[-1].number <= FEW)
    image = [batch, *[made.size(f"image_{d}", s, d == last) for d, s in enumerate(x.shape[1:-1], 1)], in_channels]
    made.shapes[x] = (image, x.shape)
    if moves:
        perm, source = moves[0].attributes["perm"], moves[0].inputs[0]
        made.shapes[source] = ([image[perm.index(d)] for d in range(source.rank)], source.shape)
    add_weights(made, in_channels, channels)
    made.shapes.update({n.output: (shape, n.output.shape) for n in group.nodes if n is conv or n.is_map})
    for v in operands:
        left = len(shape) - v.rank
        made.shapes.setdefault(v, ([1 if s == 1 else shape[left + d] for d, s in enumerate(v.shape)], v.shape))
    return made


def of_product(made, group, operands):
    conv = made.conv
    x, y, none = conv.inputs[0], conv.output, []
    channels = made.size("out_channels", y.shape[-1], y.shape[-1].number is not None and y.shape[-1].number <= FEW)
    in_channels = made.size("in_channels", x.shape[-1], x.shape[-1].number is not None and x.shape[-1].number <= FEW)
    count = product(y.shape[:-1])
    rows = made.size("rows", count, False)
    made.attributes = {"kernel": none, "strides": none, "dilations": none, "before": none, "after": none, "inside": none}
    made.shapes[x] = ([rows, in_channels], (count, x.shape[-1]))
    add_weights(made, in_channels, channels)
    made.shapes.update({n.output: ([rows, channels], (count, y.shape[-1])) for n in group.nodes})
    for v in operands:
        if v.elements == 1:
            made.shapes.setdefault(v, ([], ()))
        elif v.shape == y.shape:
            made.shapes.setdefault(v, ([rows, channels], (count, y.shape[-1])))
        else:
            made.shapes.setdefault(v, ([channels], (y.shape[-1],)))
    return made


def add_weights(made, in_channels, channels):
    conv = made.conv
    w, panel = conv.inputs[1], conv.attributes["panel"]
    kernel = made.attributes.get("kernel", conv.attributes["kernel"])
    if panel == 0:
        made.shapes[w] = ([*kernel, channels], (*map(Size.of, kernel), w.shape[-1]))
    else:
        panels = made.size("panels", w.shape[0], False)
        made.shapes[w] = ([panels, *kernel, in_channels, panel], (w.shape[0], *map(Size.of, kernel), *w.shape[-2:]))
    for v in conv.inputs[2:]:
        made.shapes[v] = ([channels], v.shape)


def is_plain(number):
    """Whether a number stands in the code: one that is the same in many convolutions, as 6, 1/6 or 0.5."""
    return any(abs(number * d) < 1024 and abs(number * d - round(number * d)) < 1e-6 * d for d in (1, 2, 3, 5, 6))

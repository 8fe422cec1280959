"""Images with their channels innermost: what a convolution makes stays so until something needs it otherwise.

The layout of an array is an order of its dimensions, in which it is stored. Elementwise steps, pooling, resizing, concatenation and the like
take over the layout of what they read; transposes and reshapes that agree with it become no step at all. Transposes stand where the layout
changes: before the first convolution, and behind the last one.
"""

import math

import numpy as np
from graph import Value

MOST_ZEROS = 16  # of weights of a ConvTranspose by its places, beside each weight
PANELS = (32, 48, 16)  # output channels that lie together in packed weights; the first that pads least


def channels_last(rank):
    return [0, *range(2, rank), 1]


def is_one(size):
    return size == 1


class Layouts:
    def __init__(self, graph, builder):
        self.graph, self.builder = graph, builder
        self.orders = {}  # Value: its order, where it is not that of the model
        self.shapes = {}  # of these, as the model has them
        self.made = {}    # (Value, order): the Value that is stored so

    def run(self):
        nodes, self.graph.nodes = self.graph.nodes, []
        for node in nodes:
            self.builder.origin, self.builder.place = node.origin, self.graph.places[node.origin]
            rewrite = getattr(self, node.op, None)
            if rewrite is None or not rewrite(node):
                node.inputs = [self.stored(v, list(range(v.rank))) for v in node.inputs]
                self.graph.nodes.append(node)
        self.graph.outputs = [self.stored(v, list(range(self.rank(v)))) for v in self.graph.outputs]

    def rank(self, value):
        return value.rank if value not in self.orders else len(self.shapes[value])

    def shape(self, value):
        return self.shapes.get(value, value.shape)

    def order(self, value):
        return self.orders.get(value, list(range(value.rank)))

    def stored(self, value, order):
        """The array in this order: as it is, or with its dimensions put in order."""
        own = self.order(value)
        if own == order:
            return self.made.get((value, tuple(order)), value)
        found = self.made.get((value, tuple(order)))
        if found is None:
            found = self.made[value, tuple(order)] = self.moved(self.made.get((value, tuple(own)), value), [own.index(d) for d in order])
        return found

    def moved(self, value, perm):
        before = self.builder.origin
        if value.constant is None:
            maker = self.graph.places[value.node.origin] if value.node is not None else f'input "{value.name}"'
            self.own_origin(f'Layout "{named(maker)} as {"".join(map(str, perm))}"')
        rest = [p for p in perm if not is_one(value.shape[p])]
        if rest == sorted(rest):  # the same memory
            made = self.builder.reshape(value, [value.shape[p] for p in perm])
        else:
            made = self.builder.transpose(value, perm)
        self.builder.origin = before
        return made

    def own_origin(self, place):
        """What is added begins in a group of its own."""
        self.builder.origin = max(self.graph.places) + 1
        self.graph.places[self.builder.origin] = place

    def take(self, node, order, inputs, **attributes):
        """The node over arrays in this order."""
        node.inputs = inputs
        node.attributes.update(attributes)
        self.set(node.output, order)
        self.graph.nodes.append(node)
        return True

    def set(self, value, order):
        if order != list(range(value.rank)):
            self.shapes[value], self.orders[value] = value.shape, order
            value.shape = tuple(value.shape[d] for d in order)

    def wanted(self, values, rank):
        """The order that some of these have already, the largest first; None where they lie as the model has them."""
        found = [v for v in values if v in self.orders and self.rank(v) == rank]
        large = [v for v in found if sum(not is_one(s) for s in v.shape) > 2]
        return self.orders[(large or found)[0]] if found else None

    # Convolutions begin it.

    def conv(self, node):
        x, w = node.inputs[0], node.inputs[1]
        rank = self.rank(x)
        if "outside" in node.attributes:  # of 8 bits: its weights are packed where it becomes a call
            return self.grouped(node, channels_last(rank))
        if node.output.type != "float32" or any(v.constant is None for v in node.inputs[1:]):
            return False
        groups, order = node.attributes["groups"], channels_last(rank)
        if groups > 1 and (groups != w.constant.shape[0] or w.constant.shape[1] != 1):
            return self.grouped(node, order)
        packed = depthwise(w) if groups > 1 else panels(w)
        return self.take(node, order, [self.stored(x, order), packed, *node.inputs[2:]], last=True,
                         panel=0 if groups > 1 else packed.constant.shape[-1])

    def grouped(self, node, order):
        """Channels of a group are few: the general form, with the channels of the result innermost."""
        w = node.inputs[1]
        made = np.ascontiguousarray(np.moveaxis(w.constant, [1, 0], [-2, -1]))
        return self.take(node, order, [self.stored(node.inputs[0], order), Value(w.name + "_last", w.type, made.shape, constant=made), *node.inputs[2:]],
                         last=True, panel=-1)

    def conv_transpose(self, node):
        """A convolution of the image makes the elements of all places beside each other, as channels; then they are put in their places. A place
        is where an element lies among as many as a stride; each has its own taps of the window, and zeros for the others."""
        a, (x, w) = node.attributes, node.inputs[:2]
        spatial = len(a["kernel"])
        if node.output.type != "float32" or any(v.constant is None for v in node.inputs[1:]) or a["groups"] != 1 or \
                not all(p.isdigit() for p in a["before"]):
            return False
        strides, before = a["strides"], [int(p) for p in a["before"]]
        reach = [[(s - 1 + p) // s, -((d * (k - 1) - p) // s)] for s, p, d, k in zip(strides, before, a["dilations"], a["kernel"])]
        if any(last < 0 or first > 0 for last, first in reach):
            return False
        places = math.prod(strides)
        window = [last - first + 1 for last, first in reach]
        if places * math.prod(window) > MOST_ZEROS * math.prod(a["kernel"]):
            return False
        b, order = self.builder, channels_last(2 + spatial)
        image, channels = self.stored(x, order), w.constant.shape[1]
        weights = self.of_places(w.constant, strides, before, a["dilations"], [first for _, first in reach], window)
        packed = panels(Value(w.name + "_places", w.type, [], constant=weights))
        bias = [b.constant(np.tile(v.constant, places)) for v in node.inputs[2:]]
        extent, result = self.shape(x)[2:], node.output.shape[2:]
        count = [e if size == e * s else (size + s - 1) // s for size, e, s in zip(result, extent, strides)]
        after = [n - e + last for n, e, (last, _) in zip(count, extent, reach)]
        none = [1] * spatial
        self.own_origin(f'ConvTranspose "{named(self.graph.places[node.origin])} before its places"')
        inside = [first == 0 and rest == 0 for (_, first), rest in zip(reach, after)]
        y = b.add("conv", [image, packed, *bias], [image.shape[0], *count, places * channels], "float32", groups=1, kernel=window, strides=none,
                  dilations=none, before=[str(-first) for _, first in reach], after=[str(n) for n in after], inside=inside, last=True,
                  panel=packed.constant.shape[-1])
        b.origin = node.origin
        y = b.reshape(y, [image.shape[0], *count, *strides, channels])
        y = b.transpose(y, [0, *[d for s in range(spatial) for d in (1 + s, 1 + spatial + s)], 1 + 2 * spatial])
        y = b.reshape(y, [image.shape[0], *[n * s for n, s in zip(count, strides)], channels])
        wanted = [node.output.shape[d] for d in order]
        if list(y.shape) != wanted:
            y = b.add("slice", [y], wanted, "float32", starts=["0"] * len(order), steps=[1] * len(order))
        self.shapes[node.output], self.orders[node.output] = node.output.shape, order
        node.output.shape = y.shape
        self.made[node.output, tuple(order)] = y
        return True

    @staticmethod
    def of_places(w, strides, before, dilations, first, window):
        """[places * out, in, window...] of [in, out, kernel...]: what tap t of place p is multiplied with lies (p + before - t) / stride further."""
        made = np.zeros([math.prod(strides), w.shape[1], w.shape[0], *window], w.dtype)
        for number, place in enumerate(np.ndindex(*strides)):
            for tap in np.ndindex(*w.shape[2:]):
                far = [p + b - d * t for p, b, d, t in zip(place, before, dilations, tap)]
                if all(f % s == 0 for f, s in zip(far, strides)):
                    made[(number, slice(None), slice(None), *[f // s - g for f, s, g in zip(far, strides, first)])] = w[(slice(None), slice(None), *tap)].T
        return made.reshape(-1, *made.shape[2:])

    # What goes along.

    def pool(self, node):
        x = node.inputs[0]
        order = channels_last(self.rank(x))
        return self.orders.get(x) == order and self.take(node, order, [self.stored(x, order)], last=True)

    def map(self, node):
        rank = node.output.rank
        order = self.wanted([v for v in node.inputs if v.constant is None], rank)
        return order is not None and self.take(node, order, [self.operand(v, order) for v in node.inputs])

    def operand(self, value, order):
        """An operand that is broadcast to what lies in this order."""
        if self.rank(value) == 0 or all(is_one(s) for s in value.shape) and value.constant is not None:
            return self.builder.reshape(value, ()) if value.rank else value
        if self.rank(value) == len(order):
            return self.stored(value, order)
        plain = self.stored(value, list(range(self.rank(value))))
        key = (value, "operand", tuple(order))
        if key not in self.made:
            whole = self.builder.reshape(plain, [1] * (len(order) - plain.rank) + list(plain.shape))
            self.made[key] = self.moved(whole, order)
        return self.made[key]

    def reduce(self, node):
        x, axes = node.inputs[0], node.attributes["axes"]
        if x not in self.orders:
            return False
        order = self.orders[x]
        rest = order if node.attributes["keep"] else [d for d in order if d not in axes]
        left = sorted(rest)
        return self.take(node, [left.index(d) for d in rest], [self.stored(x, order)], axes=sorted(order.index(a) for a in axes))

    def along(self, node, *lists):
        """Moves that have a list with an entry for each dimension."""
        x = node.inputs[0]
        if x not in self.orders:
            return False
        order = self.orders[x]
        changed = {name: [node.attributes[name][d] for d in order] for name in lists}
        return self.take(node, order, [self.stored(x, order), *node.inputs[1:]], **changed)

    def slice(self, node):
        return self.along(node, "starts", "steps")

    def pad(self, node):
        return self.along(node, "before")

    def resize(self, node):
        return self.along(node, "scales", "axes")

    def tile(self, node):
        return self.along(node)

    def concat(self, node):
        order = self.wanted(node.inputs, node.output.rank)
        return order is not None and self.take(node, order, [self.stored(v, order) for v in node.inputs], axis=order.index(node.attributes["axis"]))

    def same_memory(self, node, order):
        """A step that only names the dimensions of an array in another way."""
        x = node.inputs[0]
        plain, value = self.made.get((x, tuple(self.orders[x])), x), node.output
        shape = tuple(value.shape[d] for d in order)
        made = self.builder.reshape(plain, shape)
        if order == list(range(value.rank)):
            if made is plain:
                made = self.builder.add("reshape", [plain], shape, value.type, runs=[[[d], [d]] for d in range(value.rank)])
            node.op, node.inputs, node.attributes = made.node.op, made.node.inputs, made.node.attributes
            self.graph.nodes[-1] = node
            return True
        self.shapes[value], self.orders[value] = value.shape, order
        value.shape = shape
        self.made[value, tuple(order)] = made
        return True

    def transpose(self, node):
        x = node.inputs[0]
        if x not in self.orders:
            return False
        perm = node.attributes["perm"]
        return self.same_memory(node, [perm.index(d) for d in self.orders[x]])

    def reshape(self, node):
        """One whose runs of dimensions lie together in memory."""
        x = node.inputs[0]
        if x not in self.orders:
            return False
        own, shape = self.orders[x], self.shapes[x]
        if len(node.attributes["runs"]) == 1 and len(own) > 1:
            return False
        places, ones = {}, []
        for begin, to in node.attributes["runs"]:
            wide = [own.index(d) for d in begin if not is_one(shape[d])]
            between = [own[i] for i in range(wide[0], wide[-1])] if wide else []
            if wide != sorted(wide) or any(not is_one(shape[d]) and d not in begin for d in between):
                return False
            if wide:
                places[wide[0]] = to
            elif all(is_one(node.output.shape[d]) for d in to):
                ones += to
            else:
                return False
        order = [d for place in sorted(places) for d in places[place]]
        at = max(len(order) - 1, 0)
        return self.same_memory(node, order[:at] + ones + order[at:])


def named(place):
    """A word for an ONNX node or an input in the name of what moves it."""
    parts = place.split('"')
    return parts[1] if len(parts) > 1 and parts[1] else parts[-2] if len(parts) > 2 else place


def depthwise(w):
    made = np.ascontiguousarray(np.moveaxis(w.constant[:, 0], 0, -1))
    return Value(w.name + "_last", w.type, made.shape, constant=made)


def panels(w):
    """[o, c, kernel...] as panels of output channels: [panels, kernel..., c, panel], with zeros behind the last channel."""
    channels = w.constant.shape[0]
    panel = 8 if channels <= 8 else min(PANELS, key=lambda p: (channels + p - 1) // p * p)
    count = (channels + panel - 1) // panel
    whole = np.zeros([count * panel, *w.constant.shape[1:]], w.constant.dtype)
    whole[:channels] = w.constant
    made = whole.reshape(count, panel, *w.constant.shape[1:])
    made = np.ascontiguousarray(np.moveaxis(made, [1, 2], [-1, -2]))
    return Value(w.name + "_packed", w.type, made.shape, constant=made)


def place(graph, builder):
    """Chooses the layouts of a graph that has convolutions."""
    if any(n.op == "conv" for n in graph.nodes):
        Layouts(graph, builder).run()
        graph.drop_unused()

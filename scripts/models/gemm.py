"""A product with constant weights and its epilogue is a gemm; several of one array, which one attention reads, are one."""

import activations
import numpy as np
import storage
import tiles
from calls import Call, Scalar, number_of, other_of
from graph import MOST, Value
from groups import Group
from sizes import Size, product
from views import View

PANELS = (48, 64, 32)  # columns of a panel of packed weights, which the schedule of gemm is told: the first that pads least
MOST_STEPS = 16  # of an activation


class Chain:
    """The maps behind a product, step by step."""

    def __init__(self, group, start):
        self.readers, self.nodes = {}, group.nodes
        for n in group.nodes:
            for v in n.inputs:
                self.readers.setdefault(v, []).append(n)
        self.value, self.done = start, {start.node}

    def only(self, value, fn):
        """The one reader of a value, where it is this function."""
        found = self.readers.get(value, [])
        return found[0] if len(found) == 1 and found[0].is_map and found[0].attributes["fn"] == fn else None

    def took(self, *nodes):
        self.done.update(nodes)
        self.value = nodes[-1].output
        return True

    def bias(self, columns):
        node = self.only(self.value, "add")
        other = other_of(node, self.value) if node else None
        if other is None or other.constant is None or other.type != "float32" or other.constant.size != columns or \
                other.rank == 0 or other.shape[-1] != columns or columns == 1:
            return None
        self.took(node)
        return other

    def residual(self):
        node = self.only(self.value, "add")
        other = other_of(node, self.value) if node else None
        if other is None or other is self.value or other.constant is not None or other.shape != self.value.shape or other.node in self.done:
            return None
        self.took(node)
        return other

    def quantized(self):
        """(type, scale, zero point) of a QuantizeLinear with one scale: the steps of lowering/elementwise.py."""
        steps, value, numbers = [], self.value, []
        for fn in ("div", "round", "add", "max", "min", "cast"):
            node = self.only(value, fn)
            if node is None and fn == "add":
                numbers.append(0)
                continue
            if node is None or node.inputs[0] is not value:
                return None
            if len(node.inputs) > 1:
                zero = node.inputs[1]
                zero = zero.node.inputs[0] if fn == "add" and zero.node is not None and is_map(zero.node, "cast") else zero
                numbers.append(number_of(zero))
            steps.append(node)
            value = node.output
        scale, zero, least, most = numbers
        limits = {"uint8": (0, 255), "int8": (-128, 127)}.get(value.type)
        if scale is None or zero is None or (least, most) != limits or scale <= 0:
            return None
        self.done.update(n for n in self.nodes if is_map(n, "cast") and n.output is steps[-4].inputs[-1])
        self.took(*steps)
        return value.type, scale, int(zero)

    def activation(self):
        """What the maps of this value alone compute, where it is an activation that gemm has."""
        derived, taken = {self.value: activations.POINTS}, []
        for node in self.nodes:
            if not node.is_map or not any(v in derived for v in node.inputs):
                continue
            given = [derived[v] if v in derived else number_of(v) for v in node.inputs]
            made = activations.evaluate(node, given) if node.output.shape == self.value.shape else None
            if made is None or len(taken) == MOST_STEPS:
                break
            derived[node.output] = made
            taken.append(node)
            if all(n in taken for v in derived for n in self.readers.get(v, []) if v is not node.output) and \
                    (name := activations.name_of(made)) is not None and self.took(*taken):
                return name
        return None


def is_map(node, fn):
    return node.is_map and node.attributes["fn"] == fn


class Product:
    """What a group computes as a gemm; `quantized` is what its result is stored as, where that is of 8 bits."""

    def __init__(self, a, weights, bias, activation, residual, quantized=None):
        self.a, self.weights, self.bias, self.activation, self.residual = a, weights, bias, activation, residual
        self.quantized = quantized

    def epilogue(self, rows, columns, stored=lambda value: value):
        """Parameters of the generator, and arguments. `stored`: operands as the op takes them."""
        params, arguments = {}, []
        if self.bias is not None:
            params["add_bias"] = "true"
            arguments.append(View.of(stored(self.bias), (columns,)))
        if self.activation:
            params["activation"] = self.activation
        if self.residual is not None:
            params["add_residual"] = "true"
            arguments.append(View.of(stored(self.residual), (rows, columns)))
        if self.quantized is not None:
            params["output"], scale, zero = self.quantized
            arguments += [Scalar(scale), Scalar(zero, "int32")]
        return params, arguments

    def call(self, result, packed, target, told, half):
        """`told`: what the group says of its schedule; `half`: the type of 16 bits that is multiplied, or ""."""
        depth, columns = self.weights.constant.shape
        rows = product(self.a.shape[:-1])
        on_gpu, by_tiles = target.on_gpu, tiles.multiplies(target, half)

        def stored(value):
            return storage.as_half(value, half, packed) if half else value
        panel = panel_of(columns, told, tiles.PANELS if by_tiles else PANELS)
        if (self.weights, panel) not in packed:
            packed[self.weights, panel] = stored(self.weights) if on_gpu else pack(self.weights, panel, half)
        arguments = [View.of(stored(self.a), (rows, depth)), View.of(packed[self.weights, panel])]
        params, rest = self.epilogue(rows, columns, stored)
        if half:
            params["type"] = half
            if result.stored != half:
                params["output"] = result.stored
        arguments += rest
        made = Call("gemm", params, {} if on_gpu else {"panel": str(panel)}, arguments, View.of(result, (rows, columns)),
                    "simt" if on_gpu and not half else "", copies(rows, depth, columns) if on_gpu and half else ())
        if by_tiles:
            made.variant, made.tuned = tiles.schedule_of(depth, columns, panel, half)
        return made


def copies(rows, depth, columns):
    """Bytes of what the tensor cores' schedule copies where rows of 16 bits do not begin at multiples of 16 bytes."""
    if depth % 8 == 0 and columns % 8 == 0:
        return ()
    return [count * ((length + 7) // 8 * 8) * 2 for count, length in ((Size.of(rows), depth), (Size.of(depth), columns))]


def of_group(group):
    """The Product that a group is, or None."""
    products = [n for n in group.nodes if n.reduces]
    if len(products) != 1 or products[0].op != "matmul":
        return None
    node = products[0]
    a, b = node.inputs[:2]
    if b.constant is None or b.rank != 2 or b.type != "float32" or a.node in group.nodes or a.rank < 2 or b.constant.size == 0:
        return None
    depth, columns = b.constant.shape
    if columns < 8:
        return None
    chain = Chain(group, node.output)
    return of_chain(group, chain, columns, lambda *parts: Product(a, b, *parts))


def of_chain(group, chain, columns, made):
    """A Product with the epilogue that a chain of maps is, where it is one."""
    parts = chain.bias(columns), chain.activation(), chain.residual(), chain.quantized()
    return made(*parts) if chain.done == set(group.nodes) and chain.value is group.output else None


def parts_of(group):
    """The groups of single products that a group of several results is made of, or None."""
    products = [n for n in group.nodes if n.op == "matmul"]
    parts = {n: [n] for n in products}
    for n in group.nodes:
        if n in parts:
            continue
        own = [p for p in products if any(v.node in parts[p] for v in n.inputs)]
        if len(own) != 1:
            return None
        parts[own[0]].append(n)
    return [Group(nodes) for nodes in parts.values()]


def together(parts):
    """One Product of those of several groups that multiply the same array, or None."""
    products = [of_group(p) for p in parts]
    first = products[0]
    if len(parts) < 2 or any(p is None or p.residual is not None or p.quantized is not None or p.a is not first.a or p.activation != first.activation or
                             (p.bias is None) != (first.bias is None) for p in products):
        return None
    weights = np.concatenate([p.weights.constant for p in products], 1)
    made = Value("+".join(p.weights.name for p in products), "float32", weights.shape, constant=weights)
    bias = None
    if first.bias is not None:
        numbers = np.concatenate([p.bias.constant.flatten() for p in products])
        bias = Value(made.name + "_bias", "float32", numbers.shape, constant=numbers)
    return Product(first.a, made, bias, first.activation, None)


def join(parts, reader, packed, target, half, name="", told=None):
    """A group of the products of several groups, whose results lie beside each other in rows, and the call of the attention that reads them so;
    None where they do not go together. Raises attention's Mismatch."""
    whole = together(parts)
    if whole is None:
        return None
    columns = whole.weights.constant.shape[1]
    result = Value(f"{parts[0].output.name}_joined", "float32", (*parts[0].output.shape[:-1], columns))
    if result.elements.number is not None and result.elements.number > MOST:
        return None
    result.stored = parts[0].output.stored
    starts, begin = {}, 0
    for p in parts:
        shape = p.output.shape
        strides = [product(shape[d + 1:-1]) * columns for d in range(len(shape) - 1)]
        starts[p.output] = View.of(result, shape, [*strides, 1], begin)
        begin += shape[-1].number
    call = reader.match.build(starts)
    group = Group([n for p in parts for n in p.nodes], name)
    group.several, group.joined = [p.output for p in parts], result
    group.settings = dict(told or {})
    group.call = whole.call(result, packed, target, group.settings, half)
    group.why = "attention reads its results as they lie, beside each other"
    return group, call


def panel_of(columns, told, panels):
    return told_panel(told) or min(panels, key=lambda p: (columns + p - 1) // p * p)


def told_panel(told):
    """What a group says, where that is one."""
    number = told.get("panel", "")
    return int(number) if number in ("16", "32", "48", "64", "96", "128") else None


def pack(b, panel, half=""):
    """Panels of columns, one after the other, each from front to back (generators/math/weights.h)."""
    depth, columns = b.constant.shape
    panels, member = (columns + panel - 1) // panel, 2 if half == "bfloat16" else 1  # rows of which an instruction multiplies so many
    groups = (depth + member - 1) // member
    whole = np.zeros([groups * member, panels * panel], np.float32)
    whole[:depth, :columns] = b.constant
    made = storage.rounded(np.ascontiguousarray(whole.reshape(groups, member, panels, panel).transpose(2, 0, 3, 1)), half)
    return Value(b.name + "_packed", half or "float32", made.shape, constant=made)

"""Products of dequantised arrays become products of the whole numbers of 8 bits that they are made of, with their scales behind them:

    scale_a (a - zero) @ (scale_b b)  ->  scale_a scale_b (a @ b - zero sum(b))

The sums are exact, in 32 bits, and a is read as it was stored. Weights are symmetric, or become so where what is left fits 8 bits. Where a call brings
both matrices, as in attention, one node has both with their zeros (generators/graph/products.h). Convolutions likewise; they become so before the layouts of
images are chosen.
"""

import numpy as np
from graph import Node, Value
from views import MOVES


def is_dequantized(call):
    """Whether a node is a DequantizeLinear of constants, with one scale or one for each index of an axis."""
    given = [v for v in call.inputs if v is not None]
    return call.node.op_type == "DequantizeLinear" and all(v.constant is not None for v in given) and given[1].rank <= 1 and \
        given[0].type in ("int8", "uint8", "int32")


def centred(call):
    """(whole numbers without their zero point, scale with the dimensions of x, axis) of such a node."""
    x, scale = call[0].constant, call[1].constant
    axis = call.axis(x.ndim, 1) if scale.size > 1 else max(x.ndim - 1, 0)
    if scale.size > 1 and scale.size != x.shape[axis]:
        call.fail(f"x_scale has {scale.size} numbers for {x.shape[axis]}")

    def along(v):
        return v.reshape([-1 if d == axis else 1 for d in range(x.ndim)])
    zero = call[2].constant.astype(np.int64) if call[2] is not None else np.zeros(1, np.int64)
    if zero.size not in (1, scale.size):
        call.fail("x_zero_point has to have the shape of x_scale")
    return x.astype(np.int64) - along(zero), along(scale), axis


def dequantized(call):
    numbers, scale, _ = centred(call)
    return numbers.astype(scale.dtype) * scale


def levels_of(call):
    """(whole numbers of 8 bits, scale, axis) of such a node, or None where they do not fit."""
    numbers, scale, axis = centred(call)
    return (numbers.astype(np.int8), scale.flatten(), axis) if scale.dtype == np.float32 and numbers.ndim > 0 and is_8_bit(numbers) else None


def is_8_bit(numbers):
    return numbers.size > 0 and numbers.min() >= -128 and numbers.max() <= 127


def is_map(node, fn):
    return node is not None and node.is_map and node.attributes["fn"] == fn


def number(value):
    return value.constant.flatten()[0] if value.constant is not None and value.constant.size == 1 else None


def centred_of(value):
    """(array of 8 bits, zero point) of an int32 array that is made so of it, or None. The zero point is a number, or a Value of one element."""
    node, zero = value.node, 0
    if is_map(node, "sub"):
        zero = number(node.inputs[1])
        if zero is None and is_map(node.inputs[1].node, "cast") and node.inputs[1].elements == 1:
            zero = node.inputs[1]
        node = node.inputs[0].node
    if not is_map(node, "cast") or zero is None or node.output.type != "int32" or node.inputs[0].type not in ("uint8", "int8"):
        return None
    return node.inputs[0], zero if isinstance(zero, Value) else int(zero)


def dequantized_of(value):
    """(array of 8 bits, zero point, scale) of an array of f32 that a DequantizeLinear makes with one scale; or None."""
    node = value.node
    scale = number(node.inputs[1]) if is_map(node, "mul") else None
    cast = node.inputs[0].node if scale is not None else None
    found = centred_of(cast.inputs[0]) if is_map(cast, "cast") and value.type == "float32" else None
    return (*found, float(scale)) if found is not None and not isinstance(found[1], Value) else None


def moved(value):
    """What stands before the moves that make a value, and these: of levels they are the same."""
    moves = []
    while value.node is not None and value.node.op in MOVES:
        moves.insert(0, value.node)
        value = value.node.inputs[0]
    return value, moves


class Rewriter:
    def __init__(self, graph):
        self.graph, self.made, self.count = graph, [], 0

    def add(self, origin, op, inputs, shape, type_, **attributes):
        node = Node(op, inputs, origin, **attributes)
        self.count += 1
        node.output = Value(f"i{self.count}", type_, shape, node)
        self.made.append(node)
        return node.output

    def constant(self, array):
        self.count += 1
        return Value(f"i{self.count}", str(array.dtype), array.shape, constant=array)

    def sums(self, node, x, zero, weights):
        """The product of whole numbers, without what the zero point adds."""
        weights, origin, shape = np.ascontiguousarray(weights), node.origin, node.output.shape
        total = self.add(origin, "matmul", [x, self.constant(weights)], shape, "int32")
        columns = weights.astype(np.int32).sum(0, dtype=np.int32)
        if isinstance(zero, Value):
            zero = self.add(origin, "map", [zero, self.constant(columns)], columns.shape, "int32", fn="mul")
        elif zero != 0:
            zero = self.constant(columns * np.int32(zero))
        else:
            return total
        return self.add(origin, "map", [total, zero], shape, "int32", fn="sub")

    def replaced(self, node, found):
        """Gives a node's result another node, the last one that was made."""
        last = found.node
        last.output = node.output
        node.output.node = last

    def product(self, node):
        a, b = node.inputs
        if node.output.type == "int32":
            found = centred_of(a)
            if found is not None and b.constant is not None and b.rank == 2 and is_8_bit(b.constant):
                self.replaced(node, self.sums(node, *found, b.constant.astype(np.int8)))
                return True
            return False
        (left, left_moves), (right, right_moves) = moved(a), moved(b)
        found, other = dequantized_of(left), dequantized_of(right)
        if found is not None and other is not None and b.rank > 1:
            return self.product_of_two(node, found, left_moves, other, right_moves)
        found = found if not left_moves else None
        if found is None or b.levels is None or b.rank != 2 or b.levels[2] != 1 and b.levels[1].size > 1:
            return False
        x, zero, a_scale = found
        numbers, scale, _ = b.levels
        sums = self.add(node.origin, "map", [self.sums(node, x, zero, numbers)], node.output.shape, "float32", fn="cast")
        scales = (np.float32(a_scale) * scale).astype(np.float32)
        self.replaced(node, self.add(node.origin, "map", [sums, self.constant(scales if scales.size > 1 else scales[0].reshape(()))],
                                     node.output.shape, "float32", fn="mul"))
        return True

    def product_of_two(self, node, left, left_moves, right, right_moves):
        """Of two arrays of a call: (array, zero point, scale) of each, and the moves behind its DequantizeLinear."""
        origin, shape = node.origin, node.output.shape
        (a, a_zero, a_scale), (b, b_zero, b_scale) = left, right
        # As instructions take them: rows are unsigned, columns signed.
        terms = [b_zero - (128 if b.type == "uint8" else 0) != 0, a_zero + (128 if a.type == "int8" else 0) != 0]
        a, b = self.repeated(origin, a, left_moves), self.repeated(origin, b, right_moves)
        zeros = [self.constant(np.array(z, np.int32)) for z in (a_zero, b_zero)]
        sums = self.add(origin, "matmul", [a, b, *zeros], shape, "int32", terms=terms)
        sums = self.add(origin, "map", [sums], shape, "float32", fn="cast")
        scale = self.constant((np.float32(a_scale) * np.float32(b_scale)).reshape(()))
        self.replaced(node, self.add(origin, "map", [sums, scale], shape, "float32", fn="mul"))
        return True

    def repeated(self, origin, value, moves):
        """The same moves of another array."""
        for move in moves:
            value = self.add(origin, move.op, [value], move.output.shape, value.type, **move.attributes)
        return value

    def convolution(self, node):
        """The same of windows, whose weights are [out, in, kernel, kernel]; outside of the image lies its zero point."""
        x, w = node.inputs[:2]
        if not is_square(node) or w.constant is None or any(v.constant is None for v in node.inputs[2:]):
            return False
        bias = node.inputs[2].constant if len(node.inputs) > 2 else None
        if node.output.type == "int32":
            found, numbers, scales = centred_of(x), w.constant, None
        else:
            found = dequantized_of(x)
            if found is None or w.levels is None or w.levels[2] != 0 and w.levels[1].size > 1:
                return False
            numbers, scales = w.levels[0], (np.float32(found[2]) * w.levels[1]).astype(np.float32)
        if found is None or isinstance(found[1], Value) or not is_8_bit(numbers):
            return False
        channels, shape, zero = numbers.shape[0], node.output.shape, found[1]

        def beside(array):
            return self.constant(array.reshape(-1, 1, 1))
        value = self.add(node.origin, "conv", [found[0], self.constant(np.ascontiguousarray(numbers.astype(np.int8)))], shape, "int32",
                         **node.attributes, outside=zero)
        if zero != 0:
            sums = numbers.astype(np.int32).reshape(channels, -1).sum(1, dtype=np.int32)
            value = self.add(node.origin, "map", [value, beside(sums * np.int32(zero))], shape, "int32", fn="sub")
        if scales is not None:
            value = self.add(node.origin, "map", [value], shape, "float32", fn="cast")
            value = self.add(node.origin, "map", [value, beside(scales) if scales.size > 1 else self.constant(scales[0].reshape(()))], shape,
                             "float32", fn="mul")
        if bias is not None:
            value = self.add(node.origin, "map", [value, beside(bias)], shape, value.type, fn="add")
        self.replaced(node, value)
        return True


def is_square(node):
    """Whether a window is one that conv2d_int8 or depthwise_conv2d_int8 has: in two dimensions, the same in both."""
    a, w = node.attributes, node.inputs[1]
    pads = set(a["before"] + a["after"])
    depthwise = a["groups"] == w.shape[0] and w.shape[1] == 1
    return len(a["kernel"]) == 2 and all(len(set(a[k])) == 1 for k in ("kernel", "strides", "dilations")) and len(pads) == 1 and \
        pads.pop().isdigit() and (a["groups"] == 1 or depthwise)


def rewrite(graph, target, op="matmul"):
    """Whether anything was one. On a GPU the graph generator has no tiles, and products of f32 have. `op`: conv or matmul."""
    if target.on_gpu:
        return False
    rewriter, changed, nodes = Rewriter(graph), False, []
    for node in graph.nodes:
        rewriter.made = []
        done = node.op == op and (rewriter.convolution(node) if op == "conv" else node.inputs[0].rank > 1 and rewriter.product(node))
        changed = changed or done
        nodes += rewriter.made if done else [node]
    graph.nodes, graph.has_integers = nodes, graph.has_integers or changed
    graph.drop_unused()
    return changed

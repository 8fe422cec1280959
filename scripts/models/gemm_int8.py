"""A product of whole numbers of 8 bits with constant weights and its epilogue is a gemm_int8 (integers.py makes such products)."""

import gemm
import numpy as np
import tiles
from calls import Call, Scalar, other_of
from graph import Node, Value
from groups import Group
from sizes import product
from views import View

PANELS = (48, 32)  # by vectors, as the schedule of gemm_int8 has them


class Product(gemm.Product):
    """`a` are whole numbers with a zero point, and what they and the columns of weights are multiplied by stands in `scales`. Where a call
    finds scale and zero point of `a`, they are Values of one element: `row_scale` and `zero`."""

    def __init__(self, a, zero, weights, scales, row_scale, *epilogue):
        super().__init__(a, weights, *epilogue)
        self.zero, self.scales, self.row_scale = zero, scales, row_scale

    def of_rows(self, rows, packed):
        """The arguments of a scale and a zero point for each row: all the same, from arrays that are stored for that."""
        made, has_zero = [], not isinstance(self.zero, int) or self.zero != 0
        zero = constant(self.a, "zero", np.array(self.zero, np.int32)) if isinstance(self.zero, int) else self.zero
        for value, type_ in ((self.row_scale, "float32"), (zero, "int32"))[:1 + has_zero]:
            if (value, rows) not in packed:
                nodes = []
                for op, wanted in (("map", value.shape), ("broadcast", (rows,))):
                    if op == "map" and value.type == type_:
                        continue
                    node = Node(op, [nodes[-1].output if nodes else value], self.origin, **({"fn": "cast"} if op == "map" else {}))
                    node.output = Value(f"{value.name}_{op}", type_, wanted, node)
                    nodes.append(node)
                packed[value, rows] = Group(nodes, f"spread_{len(packed)}")
                packed[value, rows].is_added = True
                packed.setdefault("groups", []).append(packed[value, rows])
            made.append(View.of(packed[value, rows].output))
        return made, has_zero

    def call(self, result, packed, target, told, _half):
        depth, columns = self.weights.constant.shape
        rows = product(self.a.shape[:-1])
        panel = gemm.panel_of(columns, told, tiles.PANELS if target.has_tiles else PANELS)
        if (self.weights, panel) not in packed:
            packed[self.weights, panel] = pack(self.weights, panel)
        params = {"a_type": self.a.type}
        if self.row_scale is not None:
            params["scaling"] = "row"
            quantized, has_zero = self.of_rows(rows, packed)
        else:
            has_zero = self.zero != 0
            quantized = [Scalar(1.0), *([Scalar(self.zero, "int32")] if has_zero else [])]
        if has_zero:
            params["zero_point"] = "true"
        arguments = [View.of(self.a, (rows, depth)), *quantized]
        scales = np.broadcast_to(self.scales, columns).astype(np.float32)
        arguments += [View.of(packed[self.weights, panel]), View.of(constant(self.weights, "scale", scales))]
        if has_zero or self.a.type == "int8":
            arguments.append(View.of(constant(self.weights, "sum", self.weights.constant.sum(0, dtype=np.int32))))
        more, rest = self.epilogue(rows, columns)
        return Call("gemm_int8", {**params, **more}, {"panel": str(panel)}, [*arguments, *rest], View.of(result, (rows, columns)))


def constant(weights, what, array):
    return Value(f"{weights.name}_{what}", str(array.dtype), array.shape, constant=array)


def of_group(group):
    """The Product that a group is, or None."""
    products = [n for n in group.nodes if n.reduces]
    if len(products) != 1 or products[0].op != "matmul":
        return None
    node = products[0]
    a, b = node.inputs[:2]
    if a.type not in ("uint8", "int8") or b.constant is None or b.type != "int8" or b.rank != 2 or a.node in group.nodes or a.rank < 2:
        return None
    columns = b.constant.shape[1]
    chain = gemm.Chain(group, node.output)
    zero = zero_point(chain, b.constant)
    if columns < 8 or zero is None or (cast := chain.only(chain.value, "cast")) is None or cast.output.type != "float32":
        return None
    chain.took(cast)
    scaled = chain.only(chain.value, "mul")
    found = scales_of(chain, other_of(scaled, chain.value), columns) if scaled is not None else None
    if found is None or found[1] is None and not isinstance(zero, int):
        return None
    chain.took(scaled)
    made = gemm.of_chain(group, chain, columns, lambda *parts: Product(a, zero, b, *found, *parts))
    if made is not None:
        made.origin = node.origin
    return made


def scales_of(chain, value, columns):
    """(scale of the columns or of all, None), or (the same, a scale of one element that a call finds); None where it is neither."""
    def fits(v):
        return v.constant is not None and v.type == "float32" and (v.constant.size == 1 or v.constant.shape == (columns,))
    if fits(value):
        return value.constant.flatten(), None
    node = value.node
    if node is not None and node.is_map and node.attributes["fn"] == "mul":
        for own, rest in (node.inputs, node.inputs[::-1]):
            if fits(own) and rest.elements == 1 and rest.node not in chain.nodes:
                chain.done.update(n for n in chain.nodes if n is node)
                return own.constant.flatten(), rest
    return (np.ones(1, np.float32), value) if value.elements == 1 and value.constant is None and node not in chain.nodes else None


def zero_point(chain, weights):
    """Of the subtraction of zero * sum(weights) that follows: a number, or a Value of one element; 0 where there is none, None where it is
    something else."""
    node = chain.only(chain.value, "sub")
    if node is None:
        return 0
    sums, other = weights.sum(0, dtype=np.int32), node.inputs[1]
    if node.inputs[0] is not chain.value:
        return None
    if other.constant is None:
        times = other.node
        if times not in chain.nodes or not times.is_map or times.attributes["fn"] != "mul" or times.inputs[1].constant is None or \
                not np.array_equal(times.inputs[1].constant, sums):
            return None
        zero = times.inputs[0]
        while zero.node in chain.nodes and zero.node.is_map and zero.node.attributes["fn"] == "cast":
            chain.done.add(zero.node)
            zero = zero.node.inputs[0]
        chain.took(times, node)
        return zero if zero.node not in chain.nodes else None
    if other.constant.shape != sums.shape:
        return None
    zero = int(other.constant[sums != 0][0] // sums[sums != 0][0]) if sums.any() else 0
    if not np.array_equal(other.constant, sums * zero):
        return None
    chain.took(node)
    return zero


def pack(b, panel):
    """Panels of columns, of groups of four neighbours along the depth (generators/math/weights.h)."""
    depth, columns = b.constant.shape
    panels, groups = (columns + panel - 1) // panel, (depth + 3) // 4
    whole = np.zeros([groups * 4, panels * panel], np.int8)
    whole[:depth, :columns] = b.constant
    made = np.ascontiguousarray(whole.reshape(groups, 4, panels, panel).transpose(2, 0, 3, 1))
    return Value(b.name + "_packed", "int8", made.shape, constant=made)

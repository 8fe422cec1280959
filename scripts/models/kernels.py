"""A group as what a generator takes: the graph as data, with names that groups of the same form share, and its schedule."""

import hashlib
import json
import re

import ml_dtypes
import numpy as np
import schedule
import schedule_cuda
import storage
import windows
from sizes import Size
from views import View

INLINE = 16  # elements of a constant that stands in the code


class Kernel:
    """`function(sizes..., arguments...)`: Views of what it reads and Scalars, and last the View of its result."""

    def __init__(self, group, form, sizes, arguments, target):
        self.group, self.form, self.sizes, self.arguments = group, form, sizes, arguments
        self.inputs = [a.base for a in arguments[:-1]]
        self.schedule = (schedule_cuda if target.on_gpu else schedule).of_graph(form)
        self.scratch = Size.of(0)  # bytes of device memory that a call of it stores for itself
        if target.on_gpu and not group.schedule:
            values = {f"node{i}": n.output for i, n in enumerate(group.nodes)}
            self.scratch = scratch_of([values[name].elements * bytes for name, bytes in schedule_cuda.stored(form)])
        self.key = hashlib.sha256((json.dumps(form, sort_keys=True) + self.schedule + group.schedule + told(group.settings)).encode()).hexdigest()[:16]


class CalledKernel:
    """The same of an op of ours, by its generator and its own schedule."""

    def __init__(self, group):
        self.group, self.form, self.schedule, self.sizes = group, None, "", []
        call = group.call
        call.tell(group.variant, group.settings)
        self.arguments = [*group.call.arguments, group.call.result]
        self.inputs = [a.base for a in group.call.arguments if isinstance(a, View)]
        self.scratch = scratch_of(group.call.scratch)
        self.key = hashlib.sha256(f"{group.call.op} {group.call.variant} {sorted(group.call.params.items())} {sorted(group.call.settings.items())}".encode()).hexdigest()[:16]


def told(settings):
    return " ".join(f"{k}={v}" for k, v in sorted(settings.items()))


def scratch_of(arrays):
    """Bytes for arrays of these bytes, each at a multiple of 256."""
    return sum((Size.of(a) + 256 for a in arrays), Size.of(256)) if arrays else Size.of(0)


def is_literal(value):
    return value.constant is not None and value.rank <= 1 and value.constant.size <= (INLINE if value.constant.dtype.kind in "iub" else 1) \
        and value.constant.size > 0


def size_json(size):
    return size.number if size.number is not None else str(size)


LARGE, FLOAT_MAX = 1e9, float(np.finfo(np.float32).max)  # larger ones stand in masks
COMPARISONS = ("equal", "less", "less_equal")


def number_json(value, compared):
    """An infinity that is no limit of a comparison becomes the largest finite number: Halide takes it that sums and products have none,
    and masks of attention are added as -infinity."""
    number = value.item()
    if isinstance(number, float) and abs(number) == float("inf") and not compared:
        info = ml_dtypes.finfo(value.dtype)
        return float(info.max if number > 0 else info.min)
    if isinstance(number, float) and (number != number or number in (float("inf"), float("-inf"))):
        return "nan" if number != number else "inf" if number > 0 else "-inf"
    return int(number) if isinstance(number, bool) else number


def may_fold(value):
    """Whether Halide may compute with a number what it can: not with a NaN, of which it takes it that there is none, nor with a large one, of
    which it subtracts others before it adds it: `min(x + 1e10, 1)` would be `min(x, 1 - 1e10) + 1e10`, which is 0."""
    if value.constant.dtype.kind in "iub":
        return True
    number = abs(value.constant.astype(np.float64))
    return bool(np.all((number <= LARGE) | (number >= FLOAT_MAX)))


def is_own(value, group):
    """Whether a number is one of many, as the scales of quantised arrays are: an argument then, so that their kernels are shared."""
    if value.constant.size != 1:
        return False
    number, readers = value.constant.flatten()[0], [n for n in group.nodes if value in n.inputs]
    if value.constant.dtype == np.float32:
        return bool(np.isfinite(number)) and not windows.is_plain(float(number)) and all(n.is_map and n.attributes["fn"] in ("mul", "div") for n in readers)
    return value.constant.dtype == np.int32 and all(n.is_map and n.attributes["fn"] in ("add", "sub") or n.op == "matmul" and value in n.inputs[2:]
                                                    for n in readers)


def of_group(group, target, shared=False):
    """`shared`: numbers of many kinds are arguments."""
    if group.call:
        return CalledKernel(group)
    names, inputs, nodes, dimensions = {}, [], [], set()
    own = windows.form_of(group)

    def shape_of(value):
        if own is not None and value in own.shapes:
            return own.shapes[value][0]
        for s in value.shape:
            dimensions.update(s.dimensions())
        return [size_json(s) for s in value.shape]

    def compared(value):
        return any(n.attributes.get("fn") in COMPARISONS for n in group.nodes if value in n.inputs)

    def literal(value):
        return is_literal(value) and (compared(value) or may_fold(value)) and not (shared and is_own(value, group)) and (own is None or value.constant.dtype.kind != "f" or windows.is_plain(value.constant.item()))

    for value in group.inputs:
        if literal(value):
            names[value] = f"constant{len(names)}"
            nodes.append({"name": names[value], "op": "constant", "in": [], "type": value.type, "shape": shape_of(value),
                          "values": [number_json(v, compared(value)) for v in value.constant.flatten()]})
    stored, free = [], {}
    types = storage.Types(group)
    for value in group.inputs:
        if not literal(value):
            name = names[value] = f"in{len(inputs)}"
            inputs.append({"name": name, "type": value.stored, "shape": shape_of(value)})
            stored.append(value)
            if types.of(value) != value.stored:
                names[value] = f"wide{len(inputs) - 1}"
                nodes.append({"name": names[value], "op": "map", "fn": "cast", "in": [name], "type": types.of(value), "shape": shape_of(value)})
    for i, node in enumerate(group.nodes):
        names[node.output] = f"node{i}"
        attributes = {**node.attributes, **starts_of(node, i, free), **(own.attributes if own is not None and node is own.conv else {})}
        for text in strings(attributes):
            dimensions.update(d for d in dimensions_in(text) if d not in free)
        given = [names[v] for v in node.inputs]
        if types.joins_stored and node is group.nodes[-1]:
            for v, name in enumerate(given):
                if types.of(node.inputs[v]) != types.of(node.output):
                    given[v] = f"part{v}_{i}"
                    nodes.append({"name": given[v], "op": "map", "fn": "cast", "in": [name], "type": types.of(node.output), "shape": shape_of(node.inputs[v])})
        nodes.append({"name": f"node{i}", "op": node.op, "in": given, "type": types.of(node.output), "shape": shape_of(node.output), **attributes})
    result = group.output
    if types.of(result) != result.stored:
        if result.is_finite:
            nodes.append({"name": "least", "op": "constant", "in": [], "type": "float32", "shape": [], "values": [storage.least(result.stored)]})
            nodes.append({"name": "bounded", "op": "map", "fn": "max", "in": [names[result], "least"], "type": "float32", "shape": shape_of(result)})
            names[result] = "bounded"
        nodes.append({"name": "stored", "op": "map", "fn": "cast", "in": [names[result]], "type": result.stored, "shape": shape_of(result)})
        names[result] = "stored"
    free = {**free, **{d: Size.dimension(d) for d in dimensions}, **{f"_{k}": s for k, s in (own.sizes if own else {}).items()}}
    sizes = sorted(free)
    form = {"sizes": sizes, "inputs": inputs, "nodes": nodes, "outputs": [names[group.output]]}
    arguments = [View.of(v, own.shapes[v][1] if own is not None and v in own.shapes else v.shape) for v in [*stored, group.output]]
    return Kernel(group, form, [free[s] for s in sizes], arguments, target)


def starts_of(node, number, free):
    """Where a slice of whole rows begins is an argument: steps of a sequence are one kernel."""
    starts = node.attributes.get("starts")
    if node.op != "slice" or not starts or not starts[0].isdigit() or node.output.shape[0] != 1 or any(s != "0" for s in starts[1:]):
        return {}
    name = f"_start_{number}"
    free[name] = Size.of(int(starts[0]))
    return {"starts": [name, *starts[1:]]}


def strings(attributes):
    """The sizes among a node's attributes."""
    for key in ("starts", "before", "after", "values"):
        for text in attributes.get(key, []):
            if isinstance(text, str):
                yield text


def dimensions_in(text):
    return [n for n in re.findall(r"[A-Za-z_]\w*", text) if n not in ("div", "max", "min")]

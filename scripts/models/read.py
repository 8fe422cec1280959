"""An ONNX file as a Graph: checked, with the shapes of all values, and with what is constant computed."""

import math
import os
import re

import integers
import layout
import numpy as np
import onnx
import onnx.checker
import onnx.inliner
from fold import fold_channels
from graph import MOST, Graph, ModelError, Names, Value, wrong_shape
from lowering import OPS, Builder, attend, contents
from lowering.builder import TYPES, Call, type_name
from onnx import numpy_helper
from sizes import Size
from targets import HOST

OPSETS = (7, 24)
MOST_NODES = 100000  # of a model whose functions stand in place of their calls
MOST_FOLDED = 1 << 26  # elements of a constant that is computed of others
# Types as the ONNX standard writes them in what it says of ops.
TYPE_TEXTS = {name: f"tensor({ {'float32': 'float', 'float64': 'double'}.get(name, name) })" for name in TYPES.values()}


def read(path, name, dimensions, target=HOST):
    """`dimensions`: {name: (least, most)}, as --dim has them. Raises ModelError."""
    model = load(path)
    versions = {o.version for o in model.opset_import if o.domain in ("", "ai.onnx")}
    if len(versions) > 1:
        raise ModelError(f"{path}: error: the model is of opsets {' and '.join(map(str, sorted(versions)))} at once, and means one of them")
    version = next(iter(versions), 0)
    if not OPSETS[0] <= version <= OPSETS[1]:
        raise ModelError(f"{path}: error: opset {version}; opsets {OPSETS[0]} to {OPSETS[1]} are read")
    reading = Reading(model, path, name, version, dimensions, target)
    reading.run()
    return reading.graph


def load(path):
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as e:  # protobuf raises several kinds
        raise ModelError(f"{path}: error: this is no ONNX model: {first_line(e)}") from e
    if not model.HasField("graph") or not model.graph.output:
        raise ModelError(f"{path}: error: this is no ONNX model: it has no graph")
    if wrong := text_that_is_none(model):
        raise ModelError(f"{path}: error: the model is not valid: {wrong}")
    missing = []
    folder = os.path.dirname(os.path.abspath(path))
    try:
        for tensor in onnx.external_data_helper._get_all_tensors(model):
            if onnx.external_data_helper.uses_external_data(tensor):
                file = onnx.external_data_helper.ExternalDataInfo(tensor).location
                if not os.path.isfile(os.path.join(folder, file)):
                    missing.append(f'  "{tensor.name}" is in {file}, which is not in {folder}')
    except Exception as e:  # of numbers that are none
        raise ModelError(f"{path}: error: the model is not valid: {first_line(e)}") from e
    if missing:
        shown = missing[:8] + ([f"  and {len(missing) - 8} more"] if len(missing) > 8 else [])
        raise ModelError(f"{path}: error: data of the model is missing\n" + "\n".join(shown))
    try:
        onnx.external_data_helper.load_external_data_for_model(model, folder)
        if model.ByteSize() < 1 << 30:
            onnx.checker.check_model(model)
    except Exception as e:
        raise ModelError(f"{path}: error: the model is not valid: {first_line(e)}") from e
    return inlined(model, path)


def inlined(model, path):
    """With the bodies of functions in place of the nodes that call them: those of the model, and ops that are known by what the ONNX standard
    says they are made of."""
    if model.functions:
        made = nodes_when_inlined(model)
        if made > MOST_NODES:
            raise ModelError(f"{path}: error: its functions, in place of the nodes that call them, make {made} nodes; {MOST_NODES} are read at most")
        model = onnx.inliner.inline_local_functions(model)
    version = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 1)
    made = set()
    for node in nodes_of(model.graph):
        known = node.op_type in OPS and (node.op_type != "Attention" or attend.is_plain(node))
        if node.domain in ("", "ai.onnx") and not known and onnx.defs.has(node.op_type):
            try:
                schema = onnx.defs.get_schema(node.op_type, version, "")
            except onnx.defs.SchemaError:
                continue
            if schema.has_function or schema.has_context_dependent_function:
                made.add(node.op_type)
    if not made:
        return model
    try:
        return onnx.inliner.inline_selected_functions(model, [("", name) for name in sorted(made)], inline_schema_functions=True)
    except Exception as e:  # of the onnx package
        raise ModelError(f"{path}: error: what {', '.join(sorted(made))} is made of cannot be read: {first_line(e)}") from e


def nodes_when_inlined(model):
    """How many nodes there are with the bodies of functions in place of the nodes that call them: a few kilobytes may say any number."""
    bodies, counted = {(f.domain, f.name): f for f in model.functions}, {}

    def count(body):
        return sum(function(node.domain, node.op_type) if (node.domain, node.op_type) in bodies else 1 for node in nodes_of(body))

    def function(*name):
        if name not in counted:
            counted[name] = count(bodies[name])
        return counted[name]

    return count(model.graph)


def nodes_of(graph):
    """All nodes, those of branches too."""
    for node in graph.node:
        yield node
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from nodes_of(a.g)


def text_that_is_none(message):
    """Names are whatever bytes the file has: what is no UTF-8, protobuf gives as bytes."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            parts = [value] if hasattr(value, "ListFields") else value
            if wrong := next(filter(None, map(text_that_is_none, parts)), ""):
                return wrong
        elif field.type == field.TYPE_STRING:
            for text in [value] if isinstance(value, (str, bytes)) else value:
                if not isinstance(text, str):
                    return f"{field.full_name} is no text: {text[:60]!r}"
    return ""


def first_line(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip()[:300] if lines else type(error).__name__


# Words of C and C++ and macros that cannot name a member, and the members that the header has already.
RESERVED = frozenset("""alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval
constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast
else enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not
not_eq nullptr operator or or_eq typeof private protected public register reinterpret_cast requires restrict return short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid
typename union unsigned using virtual void volatile wchar_t while xor xor_eq div max min none workspace linux unix
i386 NULL EOF errno stdin stdout stderr""".split())


# Macros and types of the two headers that NAME.h includes.
OF_HEADERS = re.compile(r"(U?INT\w*|SIZE|PTRDIFF|WCHAR|WINT|SIG_ATOMIC|RSIZE)_(MAX|MIN|C|WIDTH)|offsetof|"
                        r"(u?int(_fast|_least)?(8|16|32|64|ptr|max)|size|ssize|ptrdiff|wchar|wint|char(8|16|32)|max_align|nullptr)_t")


def identifier(text):
    """As C, C++ and Lua can say it, and as it stands in a size (sizes.py)."""
    made = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or "n"
    made = made if not made[0].isdigit() else "n" + made
    return made + "_" if made in RESERVED or OF_HEADERS.fullmatch(made) else made


def unique(name, taken):
    made, i = name, 2
    while made in taken:
        made, i = f"{name}_{i}", i + 1
    return made


def wrong_type(op, inputs, version):
    """What the ONNX standard says against the types of a node's inputs: one that the op does not take, or two that are to be one; "" where it
    takes them."""
    try:
        schema = onnx.defs.get_schema(op, version, "")
    except onnx.defs.SchemaError:
        return ""
    allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    bound = {}
    for i, value in enumerate(inputs):
        if value is None or not schema.inputs:
            continue
        formal = schema.inputs[min(i, len(schema.inputs) - 1)]
        type_ = TYPE_TEXTS[value.type]
        if type_ not in allowed.get(formal.type_str, {formal.type_str}):
            return f"{formal.name} is {value.type}, which it does not take"
        if formal.type_str in allowed and formal.is_homogeneous:
            name, first = bound.setdefault(formal.type_str, (formal.name, value.type))
            if first != value.type:
                return f"{formal.name} is {value.type}, and {name} is {first}; they have one type"
    return ""


class Named(dict):
    """Values by their names. No name is that of what is left out: a node that leaves an output out does not make the inputs that others
    leave out."""

    def __init__(self, values=()):
        super().__init__(values)
        super().__setitem__("", None)

    def __setitem__(self, name, value):
        if name:
            super().__setitem__(name, value)

    def pop(self, name):
        return super().pop(name, None) if name else None


class Reading:
    def __init__(self, model, path, name, version, dimensions, target):
        self.target = target
        self.model, self.path, self.version, self.wanted = model, path, version, dict(dimensions)
        self.graph = Graph(name)
        self.builder = Builder(self.graph)
        self.values = Named()
        self.unknown = []
        self.origins = 0
        self.input_names, self.output_names = Names(), Names()

    def run(self):
        graph = self.model.graph
        for tensor in graph.initializer:
            self.values[tensor.name] = self.constant(tensor)
        if graph.sparse_initializer:
            raise ModelError(f"{self.path}: error: sparse weights are not supported")
        self.name_dimensions(graph)
        for i in graph.input:
            if i.name not in self.values:
                self.input(i)
        for name in self.wanted:
            if name not in self.graph.dimensions and name not in self.fixed:
                has = ", ".join(sorted(set(self.free.values()))) or "none"
                raise ModelError(f'--dim {name}: error: the model has no free dimension of this name; it has {has}')
        self.nodes(graph.node)
        if self.unknown:
            lines = "\n".join("  " + u for u in self.unknown)
            ops = ", ".join(sorted({u.split(" ")[0] for u in self.unknown}))
            raise ModelError(f"{self.path}: error: {len(self.unknown)} nodes cannot be compiled ({ops})\n{lines}")
        for o in graph.output:
            if self.values.get(o.name) is None:
                raise ModelError(f'{self.path}: error: nothing makes the output "{o.name}"')
            value = self.values[o.name]
            declared = o.type.tensor_type.elem_type if o.type.HasField("tensor_type") else 0
            if declared and TYPES.get(declared) != value.type:
                said = TYPES.get(declared, f"type {declared}")
                raise ModelError(f'{self.path}: error: the output "{o.name}" is declared as {said}, and is {value.type}')
            if value.node is None or value in self.graph.outputs:  # an input, a constant or another output as it is
                self.builder.origin = self.new_origin(f'output "{o.name}"')
                stored = self.builder.stored(value)
                value = stored if stored.node is not None and stored.node.origin == self.builder.origin else \
                    self.builder.add("map", [value], value.shape, value.type, fn="identity")
            self.graph.outputs.append(value)
            self.graph.output_names.append(self.output_names.add(identifier(o.name)))
        self.graph.drop_unused()
        for n in self.graph.nodes:
            if any(s == 0 for v in [*n.inputs, n.output] for s in v.shape):
                raise ModelError(f"{self.path}: error: {self.graph.places[n.origin]}: an array without elements is not supported")
        integers.rewrite(self.graph, self.target, "conv")
        fold_channels(self.graph)
        layout.place(self.graph, self.builder)

    def constant(self, tensor, name=None):
        shown = f'{self.path}: error: "{tensor.name}"'
        wrong = wrong_shape([Size.of(d) for d in tensor.dims])
        if wrong:
            raise ModelError(f"{shown}: {wrong}")
        try:
            array = numpy_helper.to_array(tensor)
        except Exception as e:  # of numpy and of the onnx package
            raise ModelError(f"{shown} cannot be read: {first_line(e)}") from e
        return Value(name or tensor.name, type_name(tensor.data_type, f'{self.path}: error: "{tensor.name}"'), array.shape, constant=array)

    def name_dimensions(self, graph):
        """The free dimensions of the inputs: a dim_param by its name, one without by its input's and its place."""
        self.fixed, self.free, names, made = {}, {}, {}, Names()
        initializers = {t.name for t in graph.initializer}
        for i in graph.input:
            if i.name in initializers:
                continue
            if not i.type.HasField("tensor_type") or not i.type.tensor_type.HasField("shape"):
                raise ModelError(f'{self.path}: error: input "{i.name}" is no array of known rank')
            for d, dim in enumerate(i.type.tensor_type.shape.dim):
                if dim.HasField("dim_value") and dim.dim_value > 0:
                    continue
                if dim.dim_value < -1:  # 0 and -1 stand for free ones in some exports
                    raise ModelError(f'{self.path}: error: input "{i.name}": dimension {d} is {dim.dim_value}')
                param = dim.dim_param if dim.dim_param and not dim.dim_param.startswith("?") else f"{i.name}_{d}"
                if param not in names:
                    names[param] = made.add(identifier(param))
                self.free[i.name, d] = names[param]

    def input(self, i):
        shape = []
        for d, dim in enumerate(i.type.tensor_type.shape.dim):
            if (i.name, d) not in self.free:
                shape.append(Size.of(dim.dim_value))
                continue
            name = self.free[i.name, d]
            least, most = self.wanted.get(name, (1, MOST))
            if not 1 <= least <= most <= MOST:
                raise ModelError(f"--dim {name}: error: sizes are from 1 to {MOST}")
            if least == most:
                self.fixed[name] = least
                shape.append(Size.of(least))
            else:
                self.graph.dimensions[name] = (least, most)
                shape.append(Size.dimension(name))
        wrong = wrong_shape(shape)
        if wrong:
            raise ModelError(f'{self.path}: error: input "{i.name}": {wrong}')
        type_ = type_name(i.type.tensor_type.elem_type, f'{self.path}: error: input "{i.name}"')
        value = Value(self.input_names.add(identifier(i.name)), type_, shape)
        self.values[i.name] = value
        self.graph.inputs.append(value)

    def new_origin(self, place):
        self.origins = max(self.origins, *self.graph.places, 0) + 1
        self.graph.places[self.origins] = place
        return self.origins

    def place_of(self, node):
        name = f'"{node.name}"' if node.name else "without a name"
        return f'{node.op_type} {name}, which makes "{node.output[0] if node.output else ""}"'

    def nodes(self, nodes):
        for node in nodes:
            self.node(node)

    def node(self, node):
        if any(i not in self.values for i in node.input):
            for o in node.output:  # what hangs on an unknown node is no fault of its own
                self.values.pop(o)
            return
        place = self.place_of(node)
        try:
            results = self.results(node, place)
        except ModelError as e:
            self.unknown.append(str(e).removeprefix(f"{self.path}: error: "))
            return
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as e:
            self.unknown.append(f"{place}: its inputs or attributes do not fit: {type(e).__name__}: {first_line(e)}")
            return
        for name, value in zip(node.output, results):
            self.values[name] = value
        for name in node.output[len(results):]:
            self.values.pop(name)

    def results(self, node, place):
        """The Values that a node makes, as many as it has; none where it is listed as unknown."""
        call = Call(node, [self.values[i] for i in node.input], f"{self.path}: error: {place}", self.version)
        if node.domain not in ("", "ai.onnx"):
            self.unknown.append(f"{node.domain}.{place}")
            return []
        if wrong := wrong_type(node.op_type, call.inputs, self.version):
            call.fail(wrong)
        found = self.evaluated(node, call)
        if found is None and node.op_type == "If":
            return self.branch(node, call)
        if found is None and node.op_type not in OPS:
            self.unknown.append(place)
            return []
        if found is None:
            self.builder.origin = self.new_origin(place)
            self.builder.place = call.place
            found = OPS[node.op_type](self.builder, call)
        return found if isinstance(found, list) else [found]

    def evaluated(self, node, call):
        """The result where it is constant, or made of sizes alone."""
        if node.op_type == "Constant":
            return self.constant_node(node, call)
        found = contents.known(self.builder, call)
        if found is not None:
            return found
        given = [v for v in call.inputs if v is not None]
        if not given or any(v.constant is None for v in given) or node.op_type in ("If", "Loop", "Scan", "RandomNormal", "RandomUniform"):
            return None
        if sum(v.constant.size for v in given) > MOST_FOLDED or self.grows(node, call) or integers.is_dequantized(call):
            return None
        return self.fold(node, call)

    @staticmethod
    def grows(node, call):
        """Whether a node may make much of little: what its inputs say of its result's size."""
        inputs = [None if v is None else v.constant for v in call.inputs]
        numbers = [v.astype(np.float64).flatten() for v in inputs[1:2] if v is not None and v.dtype.kind in "iuf"]
        if node.op_type == "Range":
            start, limit, step = (float(v.flatten()[0]) for v in inputs)
            return step == 0 or not (limit - start) / step <= MOST_FOLDED
        if node.op_type in ("Resize", "Upsample", "EyeLike", "Bernoulli", "RandomNormalLike", "RandomUniformLike"):
            return True
        if node.op_type == "ConstantOfShape":
            return math.prod(map(float, inputs[0].flatten())) > MOST_FOLDED
        if node.op_type in ("Expand", "Tile"):
            return not numbers or inputs[0].size * math.prod(max(n, 1.0) for n in numbers[0]) > MOST_FOLDED
        if node.op_type == "OneHot":
            return not numbers or inputs[0].size * max(numbers[0].max(initial=0), 1.0) > MOST_FOLDED
        if node.op_type in ("Pad", "Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "Col2Im"):
            return True
        made = 1.0  # an outer product or a broadcast
        for v in inputs:
            made *= 1 if v is None else v.size
        return made > MOST_FOLDED and sum(v is not None and v.size > 1 for v in inputs) > 1 and \
            math.prod(max(v.shape[-1 - d] if d < v.ndim else 1 for v in inputs if v is not None)
                      for d in range(max(v.ndim for v in inputs if v is not None))) > MOST_FOLDED

    def constant_node(self, node, call):
        a = node.attribute[0]
        if a.name == "value":
            return self.constant(a.t, self.builder.name())
        value = onnx.helper.get_attribute_value(a)
        kinds = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
        if a.name not in kinds:
            call.fail(f"a constant of kind {a.name} is not supported")
        return self.builder.constant(np.array(value, kinds[a.name]))

    def fold(self, node, call):
        """By the reference evaluator of the onnx package."""
        from onnx.reference import ReferenceEvaluator
        names = [i for i in node.input if i]
        inputs = [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(self.values[n].constant.dtype), None)
                  for n in dict.fromkeys(names)]
        outputs = [onnx.helper.make_empty_tensor_value_info(o) for o in node.output if o]
        graph = onnx.helper.make_graph([node], "fold", inputs, outputs)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", self.version)])
        try:
            results = ReferenceEvaluator(model).run(None, {n: self.values[n].constant for n in names})
        except Exception:  # what it cannot do, we may
            return None
        if any(not isinstance(r, (np.ndarray, np.generic)) or np.asarray(r).size > MOST_FOLDED for r in results):
            return None
        made = iter(results)
        return [self.builder.constant(np.asarray(next(made))) if o else None for o in node.output]

    def branch(self, node, call):
        """An If whose condition is known: the nodes of its branch stand in its place, and their names are of the branch alone."""
        condition = call[0].constant
        if condition is None:
            call.fail("its condition depends on data")
        body = call.attributes["then_branch" if bool(condition.flatten()[0]) else "else_branch"]
        outer, self.values = self.values, Named(self.values)
        try:
            for tensor in body.initializer:
                self.values[tensor.name] = self.constant(tensor)
            self.nodes(body.node)
            return [self.values[o.name] for o in body.output] if all(o.name in self.values for o in body.output) else []
        finally:
            self.values = outer

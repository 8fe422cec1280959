"""Which nodes are computed together: a group becomes one kernel, with one result.

A group begins as what one ONNX node became, and grows by rules:

  epilogue   a chain of elementwise steps stays with what makes its operand, where shapes are the same
  prologue   elementwise steps and moves are computed where they are read, where each element is read about once

A value with a consumer outside of the group ends it, as does an output of the model.
"""

from sizes import Size

MOVES = ("transpose", "slice", "pad", "concat", "reshape", "broadcast", "tile", "gather")
HEAVY = ("exp", "log", "tanh", "erf", "gelu", "pow", "sigmoid", "softplus", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
         "asinh", "acosh", "atanh", "div", "sqrt", "mod", "fmod")
MOST_NODES = 48   # of a group: Halide takes longer for large ones
MOST_INPUTS = 16
MOST_JOINED = 64  # arrays that one kernel puts behind each other, by a loop each
MOST_WRITTEN = 2000  # operations of a result that is written out: a value that is read twice stands there twice, with all that it is made of


class Group:
    """Nodes in order; the last one makes the result."""

    def __init__(self, nodes, name=""):
        self.nodes = nodes
        self.name = name
        self.why = ""       # it ends where it ends
        self.call = None    # a matched op of ours, else the graph generator
        self.schedule = ""  # a Lua file of the user's
        self.wanted = ""    # the op that the user says, or "graph": no op of ours
        self.variant = ""   # of the schedule of an op of ours
        self.settings = {}  # what its schedule is told: parameters that it leaves open
        self.match = None   # of attention, by which its call is made anew
        self.several = []   # results, where there is more than one: of products beside each other
        self.joined = None  # the array of these
        self.at = ""        # where the user's file has it
        self.is_added = False  # for a call of an op alone: no nodes of the model

    @property
    def output(self):
        return self.joined or self.nodes[-1].output

    @property
    def results(self):
        return self.several or [self.nodes[-1].output]

    @property
    def inputs(self):
        made = {n.output for n in self.nodes}
        found = {}
        for n in self.nodes:
            for v in n.inputs:
                if v not in made:
                    found[v] = None
        return list(found)

    @property
    def reduces(self):
        return any(n.reduces for n in self.nodes)

    @property
    def is_alias(self):
        """A reshape of what is stored is the same memory."""
        return len(self.nodes) == 1 and self.nodes[0].op == "reshape" and self.call is None


def written_out(nodes):
    """How many operations the result of nodes in their order is, where nothing but a sum is kept."""
    members, copies, total = set(nodes), {}, 0
    for n in reversed(nodes):
        times = 1 if n.reduces else max(copies.get(n, 0), 1)
        total += times
        for v in n.inputs:
            if v.node in members:
                copies[v.node] = copies.get(v.node, 0) + times
    return total


def joined_by(nodes):
    """How many arrays they put behind each other."""
    return sum(len(n.inputs) for n in nodes if n.op == "concat")


def of_origins(graph):
    """A group a node of the model; where more than one of its values is used elsewhere, several of its nodes are products, or it puts many arrays behind
    each other, one for each node."""
    consumers = graph.consumers()
    by_origin = {}
    for node in graph.nodes:
        by_origin.setdefault(node.origin, []).append(node)
    groups = []
    for nodes in by_origin.values():
        members = set(nodes)
        used = [n for n in nodes if n.output in graph.outputs or any(c not in members for c in consumers.get(n.output, []))]
        products = sum(n.reduces and n.op != "reduce" for n in nodes)
        if len(used) == 1 and used[0] is nodes[-1] and products < 2 and joined_by(nodes) <= MOST_JOINED:
            groups.append(Group(nodes))
        else:
            groups.extend(Group([n]) for n in nodes)
    return groups


class Fusing:
    def __init__(self, graph, groups):
        self.graph = graph
        self.consumers = graph.consumers()
        self.group_of = {n: g for g in groups for n in g.nodes}
        self.position = {n: i for i, n in enumerate(graph.nodes)}

    def groups(self):
        found = {}
        for n in self.graph.nodes:
            found[self.group_of[n]] = None
        return ordered(self.graph, list(found))

    def run(self):
        """First elementwise steps of one shape, then the rest: what follows a product belongs to it, before something else reads it."""
        self.join_all(lambda group, other: group.output.shape == other.output.shape and
                      all(n.is_map or n.op in ("sizes", "constant") or n.op == "reshape" and n.output.elements == 1 for n in other.nodes))
        self.join_all(lambda group, other: True)

    def join_all(self, wanted):
        changed = True
        while changed:
            changed = False
            for group in self.groups():
                if self.group_of[group.nodes[-1]] is not group:
                    continue  # it was joined
                while (other := self.next_of(group)) is not None and wanted(group, other):
                    self.join(group, other)
                    changed = True
                    group = other

    def next_of(self, group):
        """The group that this one is computed in, or None with the reason in group.why."""
        value = group.output
        consumers = self.consumers.get(value, [])
        group.why = ""
        if value in self.graph.outputs:
            group.why = "its result is an output of the model"
            return None
        others = {self.group_of[n] for n in consumers}
        if len(others) > 1:
            group.why = f"its result has {len(others)} consumers"
            return None
        other = next(iter(others))
        if group.call or other.call:
            group.why = "its consumer is an op with a kernel of its own" if other.call else "the op has a kernel of its own"
            return None
        if len(group.nodes) + len(other.nodes) > MOST_NODES or len(set(group.inputs + other.inputs)) > MOST_INPUTS:
            group.why = "the consumer's group is full"
            return None
        if joined_by(group.nodes) and joined_by(other.nodes) and joined_by(group.nodes + other.nodes) > MOST_JOINED:
            group.why = "the consumer puts many arrays behind each other"
            return None
        if written_out(group.nodes + other.nodes) > max(MOST_WRITTEN, written_out(other.nodes)):
            group.why = "the consumer would write its expression out too many times"
            return None
        group.why = self.obstacle(group, other, consumers)
        return other if not group.why else None

    def obstacle(self, group, other, consumers):
        """Why the two are better apart; "" where they are not."""
        value = group.output
        if group.is_alias:
            return "a reshape of what is stored costs nothing"
        if self.graph.has_integers and value.type in ("uint8", "int8") and group.nodes[-1].is_map:
            return "its result has 8 bits, which cost little to keep"
        if group.reduces or other.reduces:
            if is_of_rows(group.nodes + other.nodes, other.output):
                return ""
        if group.reduces:
            if other.reduces:
                return "the consumer reduces too"
            if other.output.shape != value.shape:
                return "the consumer has another shape"
            if not all(n.is_map and n.output.shape == value.shape or n.op in ("sizes", "constant") for n in other.nodes
                       if n in consumers or self.depends(n, consumers, other)):
                return "the consumer changes places"
            return ""
        if any(n.op in ("gather", "resize", "gather_nd", "gather_elements") for n in group.nodes) and other.reduces:
            return "the consumer would look its elements up again and again"
        if any(n.op == "reshape" and divides_by_sizes(n, other.output) for n in consumers):
            return "a reshape of it would divide by sizes of a call for each element"
        if len(group.nodes) == 1 and group.nodes[0].op == "transpose" and is_few_channels(value, consumers):
            return ""
        if joins_within_rows(group.nodes[-1]) and any(n.op == "reshape" or n.op == "concat" and not joins_within_rows(n) for n in consumers):
            return "in the consumer each element would ask which array it comes from"
        for n in consumers:
            if n.op in ("matmul", "conv", "conv_transpose", "pool", "cumsum", "arg"):
                return f"a {n.op} reads its elements more than once"
            if n.op in ("gather", "gather_nd", "gather_elements", "resize", "tile", "broadcast") and self.is_work(group):
                return f"a {n.op} reads its elements more than once"
            if n.is_map and n.output.elements != value.elements and self.is_work(group) and value.elements != 1:
                return "the consumer has more elements"
        if other.reduces and self.is_heavy(group) and len(self.reads(other, value)) > 1:
            return "the consumer would compute its elements more than once"
        return ""

    def depends(self, node, on, group):
        """Whether a node of the group hangs on one of `on`."""
        members, seen, wanted = set(group.nodes), set(), [node]
        while wanted:
            n = wanted.pop()
            if n in on:
                return True
            if n in members and n not in seen:
                seen.add(n)
                wanted.extend(v.node for v in n.inputs if v.node is not None)
        return False

    @staticmethod
    def reads(group, value):
        return [n for n in group.nodes if value in n.inputs]

    @staticmethod
    def is_work(group):
        return any(n.is_map for n in group.nodes)

    @staticmethod
    def is_heavy(group):
        return any(n.is_map and n.attributes["fn"] in HEAVY for n in group.nodes)

    def join(self, group, other):
        other.nodes = sorted(group.nodes + other.nodes, key=self.position.get)
        last = other.nodes[-1]
        members = set(other.nodes)
        # The result is what is used outside.
        out = [n for n in other.nodes if n.output in self.graph.outputs or any(c not in members for c in self.consumers.get(n.output, []))]
        assert len(out) == 1, out
        if out[0] is not last:
            other.nodes.remove(out[0])
            other.nodes.append(out[0])
        for n in group.nodes:
            self.group_of[n] = other


def joins_within_rows(node):
    """A Concat of rows behind each other, long enough for vectors. By itself it is a copy for each of its arrays."""
    shape = node.output.shape
    return node.op == "concat" and node.attributes["axis"] == len(shape) - 1 and (shape[-1].number or 16) >= 16


def divides_by_sizes(reshape, result):
    """Whether a place in what it reads is found by a division by a size that only a call knows, and not only once for each long row."""
    x, runs = reshape.inputs[0], reshape.attributes["runs"]
    divided = [before for before, _ in runs if any(x.shape[d].number is None for d in before[1:])]
    if not divided:
        return False
    row = reshape.output.shape[-1:]
    keeps_rows = divided[-1] is not runs[-1][0] and row == result.shape[-1:] and row[0].number is not None and row[0].number >= 32
    return not keeps_rows


def is_few_channels(value, consumers):
    """An image of few channels before a convolution that stores it with its padding anyway, in the order that it wants."""
    return len(consumers) == 1 and consumers[0].op == "conv" and consumers[0].attributes.get("last", False) and "outside" not in consumers[0].attributes and consumers[0].inputs[0] is value and \
        not all(consumers[0].attributes["inside"]) and value.shape[-1].number is not None and value.shape[-1].number <= 4


def is_of_rows(nodes, result):
    """Whether a row of the result can be computed at a time: all reductions are over the innermost dimension, and the rest is
    elementwise, on rows as long or on one number for each row."""
    rows, length = result.shape[:-1], result.shape[-1] if result.rank else 1
    if result.rank < 2 or length == 1:
        return False
    for n in nodes:
        value = n.output
        if n.op == "reduce":
            x = n.inputs[0]
            if n.attributes["axes"] != [x.rank - 1] or not n.attributes["keep"] or x.shape != result.shape or value.type not in ("float32", "float64"):
                return False
        elif n.op == "sizes" or n.op == "reshape" and value.elements == 1:
            continue
        elif not n.is_map or value.rank == result.rank and (value.shape[:-1] != rows or value.shape[-1] not in (1, length)) or \
                value.rank != result.rank and value.elements != 1:
            return False
    return any(n.op == "reduce" for n in nodes)


def ordered(graph, groups):
    """Groups after those that they read of."""
    group_of = {n: g for g in groups for n in g.nodes}
    result, state = [], {}

    def visit(root):
        stack = [(root, iter(root.inputs))]
        state[root] = 1
        while stack:
            group, rest = stack[-1]
            for value in rest:
                maker = group_of.get(value.node)
                if maker is not None and maker not in state:
                    state[maker] = 1
                    stack.append((maker, iter(maker.inputs)))
                    break
            else:
                result.append(group)
                stack.pop()
    for n in graph.nodes:
        if group_of[n] not in state:
            visit(group_of[n])
    return result


def fuse(graph, groups):
    fusing = Fusing(graph, groups)
    fusing.run()
    result = fusing.groups()
    for g in result:
        fusing.next_of(g)  # says why it ends
    return result


def name(graph, groups):
    """A name for each: of its kind and a number, in the order of the calls."""
    counts = {}
    for g in (g for g in groups if not g.is_added):
        kind = g.call.op if g.call else kind_of(g)
        counts[kind] = counts.get(kind, 0) + 1
        g.name = f"{kind}_{counts[kind]}"


def kind_of(group):
    for op in ("matmul", "conv", "conv_transpose", "pool", "arg", "cumsum", "scatter"):
        if any(n.op == op for n in group.nodes):
            return op
    if any(n.op == "reduce" for n in group.nodes):
        return "rows" if sum(n.op == "reduce" for n in group.nodes) > 1 else "reduce"
    if any(n.is_map for n in group.nodes):
        return "map"
    return group.nodes[-1].op


def flops(group):
    """Multiplications and additions, as a Size: for the report."""
    total = Size.of(0)
    for n in group.nodes:
        if n.op == "matmul":
            total = total + n.output.elements * n.inputs[0].shape[-1] * 2
        elif n.op == "conv":
            taps = 1
            for k in n.attributes["kernel"]:
                taps *= k
            channels = n.inputs[0].shape[-1 if n.attributes.get("last") else 1]
            total = total + n.output.elements * channels * taps * 2 // n.attributes["groups"]
        elif n.is_map:
            total = total + n.output.elements
        elif n.op == "reduce":
            total = total + n.inputs[0].elements
    return total

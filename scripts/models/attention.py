"""Attention as exporters write it, softmax(scale * q k^T + masks) v with the moves around it, as our op: nothing of queries by keys is stored.

Operands and result are strided views of what is stored (views.py), so that heads need not be moved. A match is exact: constants, shapes and
consumers are verified, and what does not fit is a reason in words.
"""

import math

import numpy as np
import tiles
from calls import Call, Scalar, number_of, other_of
from sizes import Size
from views import MOVES, View, joined, merged, refined

LOWEST = float(np.finfo(np.float32).min)  # what infinite constants become (kernels.py)
LEAST = -3e38              # a number below it takes up any score that is added to it
SHORT = 256                # queries: strips of 16 below, as in apps/minilm
MANY_KEYS = 56             # vectors are quicker for fewer than tiles
HEADS = (32, 64, 96, 128)  # lengths of a head that the schedule knows as a constant
HEADS_OF_HALVES = (32, 64, 80, 96, 128, 192, 256)  # the same of the fused schedule on a GPU


class Mismatch(Exception):
    """Why this is no attention."""


def is_map(node, fn):
    return node is not None and node.op == "map" and node.attributes["fn"] == fn


def softmax_of(value):
    """The nodes of a softmax over the last dimension that makes this value, and what it is of; or None."""
    divide = value.node
    if not is_map(divide, "div") or divide.inputs[0].node is None or not is_map(divide.inputs[0].node, "exp"):
        return None
    exp, total = divide.inputs[0].node, divide.inputs[1].node
    shift = exp.inputs[0].node
    if not is_map(shift, "sub") or total is None:
        return None
    x, top = shift.inputs[0], shift.inputs[1].node
    last = [x.rank - 1]
    for node, fn, of in ((top, "max", x), (total, "sum", exp.output)):
        if node is None or node.op != "reduce" or node.attributes["fn"] != fn or node.inputs != [of] or node.attributes["axes"] != last or \
                not node.attributes["keep"]:
            return None
    return [top, shift, exp, total, divide], x


class Choice:
    """Of a Where between scores, or 0, and a number: the truth values say what is seen, or what is excluded."""

    def __init__(self, excluded, fill):
        self.excluded, self.fill = excluded, fill


class Operand:
    """A value that the op reads through moves, from the stored one on. `choice`: they are truth values."""

    def __init__(self, base, moves, choice=None):
        self.base, self.moves, self.choice = base, moves, choice

    def view(self, starts, shape):
        """Broadcast to a shape; None where it is no view."""
        made, last = starts.get(self.base) or View.of(self.base), self.base
        for node in self.moves:
            if node.op in MOVES:
                made = made and made.moved(node)
            last = node.output
        return made and made.broadcast(last.shape, shape)


class Match:
    """`nodes` become a group; build() makes its call, from where the stored operands lie."""

    def __init__(self, nodes, parts):
        self.nodes, self.parts = nodes, parts
        self.call = None

    def bases(self):
        return [o.base for o in self.parts.operands()]

    def build(self, starts):
        return self.parts.call(starts)


class Parts:
    """Of an attention: what is read, what it is multiplied by, what is added, and where the result goes."""

    def __init__(self, target):
        self.target = target
        self.scale = 1.0
        self.q = self.k = self.v = None
        self.terms = []   # (Operand, shape): what is added to scores of this shape or chooses between them and a number
        self.guarded = False  # a row that is NaN, as one masked as a whole is, becomes 0
        self.moves = []   # behind the second product
        self.result = None
        self.scores = None  # the value of the first product
        self.product = None  # of the second
        self.depth = None

    def operands(self):
        return [self.q, self.k, self.v, *[o for o, _ in self.terms]]

    def call(self, starts):
        """`starts` has Views of stored operands that do not lie dense."""
        batch, around = list(self.scores.shape[:-2]), list(self.product.shape[:-2])
        rows, columns = self.product.shape[-2:]
        keys, depth = self.scores.shape[-1], self.depth
        views = [self.placed(self.q, starts, [*batch, rows, depth], "the queries"),
                 self.placed(self.k, starts, [*batch, depth, keys], "the keys"),
                 self.placed(self.v, starts, [*around, keys, columns], "the values")]
        views[1].dims[-2:] = reversed(views[1].dims[-2:])
        for term, shape in self.terms:
            views.append(self.placed(term, starts, shape, "what is added"))
        out = View.of(self.result)
        for node in reversed(self.moves):
            out = out and out.before(node)
        if out is None:
            raise Mismatch("the result does not lie evenly")
        return self.placed_call([*views, out], rows, keys, depth, columns)

    @staticmethod
    def placed(operand, starts, shape, what):
        view = operand.view(starts, shape)
        if view is None:
            raise Mismatch(f"{what} do not lie evenly")
        return view

    def placed_call(self, views, rows, keys, depth, columns):
        outer = refined([merged([f for d in v.dims[:-2] for f in d]) for v in views])
        if outer is None:
            raise Mismatch("sequences and heads of its arrays do not divide")
        outer = joined(outer)
        groups = 1
        count = len(outer[0])
        if count == 3 and all(outer[i][2][1] == 0 for i in (1, 2)):  # grouped queries
            rest = [x for i, x in enumerate(outer) if i not in (1, 2)]
            if all(x[1][1] == x[2][0] * x[2][1] for x in rest):
                groups, count = outer[0][2][0], 2
        if count > 2:
            raise Mismatch(f"{count} dimensions around queries and keys are more than sequences and heads")
        arguments = []
        for i, (v, o) in enumerate(zip(views, outer)):
            if len(o) == 3:
                o = o[:2] if i in (1, 2) else [o[0], (o[1][0] * groups, o[2][1])]
            o = [(Size.of(1), Size.of(0))] * (2 - len(o)) + list(o)
            inner = [merged(d) for d in v.dims[-2:]]
            shape = [(rows, depth), (keys, depth), (keys, columns), *[(rows, keys)] * len(self.terms), (rows, columns)][i]
            if any(len(d) > 1 for d in inner) or inner[1] and inner[1][0][1] != 1:
                raise Mismatch("the elements of a head or of a row of a mask do not lie side by side")
            dims = [*o, *[d[0] if d else (s, Size.of(1)) for d, s in zip(inner, shape)]]
            arguments.append(View(v.base, [[d] for d in dims], v.offset))
        return self.finished(arguments, rows, depth, columns)

    def finished(self, arguments, rows, depth, columns):
        """The order of arguments is that of the generator: q, k, v, scale, mask, bias, bias_fill, out."""
        params, terms = {}, list(zip(arguments[3:-1], [o.choice for o, _ in self.terms]))
        choices = [t for t in terms if t[1] is not None]
        bias = choices or terms[-1:]
        mask = [t for t in terms if t not in bias]
        if len(mask) == 1 and not choices and not is_of_all(mask[0][0]):
            mask, bias = bias, mask
        if len(mask) > 1 or len(bias) > 1 or mask and not is_of_all(mask[0][0]):
            raise Mismatch(f"{len(terms)} arrays that differ between heads or sequences join its scores")
        if self.guarded and not (terms and all(c is not None and c.fill == -math.inf for _, c in terms)):
            raise Mismatch("rows that are NaN become 0, and its mask is not of truth values and -infinity alone")
        fill = []
        if mask:
            params["masked"] = "true"
            mask = [View(mask[0][0].base, mask[0][0].dims[2:], mask[0][0].offset)]
        if bias:
            params["add_bias"] = "true"
            choice, bias = bias[0][1], [bias[0][0]]
            if choice is not None:
                params["bias_type"] = "excluded" if choice.excluded else "boolean"
                fill = [Scalar(choice.fill if self.guarded else max(choice.fill, LOWEST))]
        settings, variant, scratch = {}, "", ()
        if self.target.on_gpu:  # the other schedules are for halves
            variant, scratch = "unfused", unfused_scratch(*arguments[0].shape[:2], rows, arguments[1].shape[2], columns)
        elif rows.number is None or rows.number <= SHORT:
            params["query_block"], params["key_block"] = "16", "16"
        if not variant and depth == columns and depth.number in HEADS:
            settings["head_dim"] = str(depth.number)
        return Call("attention", params, settings, [*arguments[:3], Scalar(self.scale), *mask, *bias, *fill], arguments[-1], variant, scratch)


def in_halves(call, half, target, least):
    """The call for arrays of 16 bits. On a GPU the fused schedule takes it then, on the tensor cores, where it has the length of the heads; on a
    host tile instructions do, where there are many keys. `least`: of each dimension."""
    call.params["type"] = half
    depth, columns, scale = call.arguments[0].shape[-1], call.arguments[2].shape[-1], call.arguments[3].number
    if target.on_gpu and depth == columns and depth.number in HEADS_OF_HALVES and scale >= np.finfo(np.float32).tiny:
        call.variant, call.scratch, call.settings = "", (), {"head_dim": str(depth.number)}
    if tiles.multiplies(target, half) and "head_dim" in call.settings and call.arguments[1].shape[2].value(least) >= MANY_KEYS:
        call.variant, call.tuned = "mma", {"query_block": "32", "key_block": "32"}


def unfused_scratch(sequences, heads, queries, keys, columns):
    """Bytes of what attention.unfused stores, in blocks of queries, keys and columns: logits and weights, the product with the values, and
    the largest, the sum and its inverse of each query."""
    queries, keys, columns = (((Size.of(n) + b - 1) // b) * b for n, b in ((queries, 128), (keys, 128), (columns, 64)))
    rows = sequences * heads * queries * 4
    return [rows * keys, rows * keys, rows * columns, rows, rows, rows]


def is_of_all(view):
    """Whether all heads of all sequences have the same."""
    return all(d[0][1] == 0 or d[0][0] == 1 for d in view.dims[:2])


class Matcher:
    """`allowed`: the nodes that may be taken, where a file says them; else all."""

    def __init__(self, graph, units, target, allowed=None):
        self.graph, self.units, self.target, self.allowed = graph, units, target, allowed
        self.consumers = graph.consumers()
        self.outputs = set(graph.outputs)
        self.position = {n: i for i, n in enumerate(graph.nodes)}

    def place(self, node):
        return self.graph.places[node.origin]

    def may(self, node):
        return node is not None and (self.allowed is None or node in self.allowed)

    def is_inner(self, value):
        """Whether one node alone reads it."""
        return len(self.consumers.get(value, [])) == 1 and value not in self.outputs

    def candidates(self):
        """Second products whose first operand is a softmax of something that a product made."""
        for node in self.graph.nodes:
            if node.op == "matmul" and self.may(node) and (found := self.softmax(node)) is not None and self.chain(found[1]) is not None:
                yield node

    def softmax(self, product):
        value, between = product.inputs[0], []
        while value.node is not None:
            node = value.node
            if self.keeps_matrices(node):
                between.append(node)
                value = node.inputs[0]
            elif is_map(node, "where") and number_of(node.inputs[1]) == 0 and is_map(node.inputs[0].node, "isnan") and \
                    node.inputs[0].node.inputs == node.inputs[2:]:
                between += [node, node.inputs[0].node]
                value = node.inputs[2]
            else:
                break
        found = softmax_of(value) if value.node is not None else None
        return None if found is None else ([*found[0], *between], found[1])

    @staticmethod
    def keeps_matrices(node):
        """Whether it is a reshape of what is around the last two dimensions."""
        if node.op != "reshape":
            return False
        before, after = node.inputs[0].shape, node.output.shape
        return min(len(before), len(after)) > 1 and before[-2:] == after[-2:]

    def chain(self, value, most=12):
        """The nodes from a value back to the product that it is made of by scales, masks and reshapes, or None."""
        node = value.node
        if node is None or not self.may(node) or most == 0:
            return None
        if node.op == "matmul":
            return [node]
        if self.keeps_matrices(node):
            ways = [node.inputs[0]]
        elif node.op == "map" and node.attributes["fn"] in ("add", "mul", "div", "max", "where"):
            fn = node.attributes["fn"]
            ways = node.inputs[:1] if fn == "div" else node.inputs[1:] if fn == "where" else node.inputs
        else:
            return None
        for way in ways:
            if way.constant is None and (way.shape == node.output.shape or node.op == "reshape") and \
                    (found := self.chain(way, most - 1)) is not None:
                return [*found, node]
        return None

    def match(self, product):
        softmax, logits = self.softmax(product)
        chain = self.chain(logits)
        parts = Parts(self.target)
        first = chain[0]
        taken = {product, *softmax, *chain}
        parts.guarded = any(is_map(n, "isnan") for n in softmax)
        parts.scores, parts.product = first.output, product.output
        parts.depth = first.inputs[0].shape[-1]
        if any(v.type != "float32" for v in (*first.inputs, *product.inputs)):
            raise Mismatch(f"its elements are {product.output.type}")
        value = first.output
        for node in chain[1:]:
            self.step(parts, node, value, taken)
            value = node.output
        parts.q = self.operand(first.inputs[0], taken, parts, inner=-1)
        parts.k = self.operand(first.inputs[1], taken, parts, inner=-2)
        parts.v = self.operand(product.inputs[1], taken, None, inner=-1)
        if not math.isfinite(parts.scale) or abs(parts.scale) > -LEAST:
            raise Mismatch("its scale is no finite number")
        self.behind(parts, product, taken)
        self.check_closed(parts, taken)
        match = Match(sorted(taken, key=self.position.get), parts)
        last = parts.result.node
        match.nodes.remove(last)
        match.nodes.append(last)
        match.call = match.build({})
        return match

    def step(self, parts, node, value, taken):
        if node.op == "reshape":
            return
        fn = node.attributes["fn"]
        other = other_of(node, value)
        if any(o.choice is not None for o, _ in parts.terms) and fn != "max":
            raise Mismatch(f"{self.place(node)} computes with what a mask has replaced")
        if fn == "where":
            excluded = node.inputs[2] is value
            number = number_of(node.inputs[1 if excluded else 2])
            if number is None or not number <= -LOWEST:
                raise Mismatch(f"{self.place(node)} chooses between scores and what is no number")
            made = self.operand(node.inputs[0], taken, None, inner=-1, shape=value.shape)
            made.choice = Choice(excluded, number)
            parts.terms.append((made, value.shape))
        elif fn in ("mul", "div"):
            number = number_of(other) if other is not None else None
            if number is None or number == 0:
                raise Mismatch(f"{self.place(node)} multiplies by no constant number")
            if parts.terms:
                raise Mismatch(f"{self.place(node)} multiplies what a mask was added to")
            parts.scale *= number if fn == "mul" else 1 / number
        elif fn == "max":
            if number_of(other) is None or number_of(other) > LEAST:
                raise Mismatch(f"{self.place(node)} takes a maximum")
        else:
            if other is None or other.type != "float32":
                raise Mismatch(f"{self.place(node)} adds no other array")
            parts.terms.append((self.operand(other, taken, None, inner=-1, shape=value.shape), value.shape))

    def operand(self, value, taken, parts, inner, shape=None):
        """Through as many moves as leave a view whose innermost elements lie side by side; `parts` takes the scales among them. What others
        read too is read through, and stays theirs."""
        moves, own, scale, is_own = [], [], 1.0, True
        stops, choice = [(value, [], [], 1.0, None)], None
        while (node := value.node) is not None and node not in taken:
            is_own = is_own and self.may(node) and self.is_inner(value)
            number = 1.0
            if node.op in MOVES:
                way = node.inputs[0]
            elif choice is None and shape is not None and (found := self.choice(node)) is not None:
                way, choice = node.inputs[0], found
            elif is_own and parts is not None and node.op == "map" and node.attributes["fn"] in ("mul", "div"):
                way, number = self.scaled(node)
                if way is None:
                    break
            else:
                break
            scale *= number
            moves.insert(0, node)
            own += [node] if is_own else []
            value = way
            if way.node is None or way.node.origin != node.origin:  # nodes of one origin stay together
                stops.append((value, list(moves), list(own), scale, choice))
        for base, through, mine, factor, choice in reversed(stops):
            made = Operand(base, through, choice)
            view = made.view({}, shape if shape is not None else (through[-1].output if through else base).shape)
            if view is not None and len(view.dims) > 1 and self.is_side_by_side(view.dims[inner]):
                taken.update(mine)
                if parts is not None:
                    parts.scale *= factor
                return made
        raise Mismatch("the elements of a head or of a row of a mask do not lie side by side")

    @staticmethod
    def choice(node):
        """Of a Where between 0 and a number that takes up any score, which is added to scores."""
        if not is_map(node, "where") or node.inputs[0].shape != node.output.shape:
            return None
        numbers = [number_of(v) for v in node.inputs[1:]]
        if None in numbers or 0 not in numbers or not min(numbers) < LEAST:
            return None
        return Choice(numbers[1] == 0, min(numbers))

    @staticmethod
    def scaled(node):
        """What a constant number is multiplied with, and the number; or None."""
        way = node.inputs[0] if node.inputs[0].constant is None else node.inputs[1]
        other = other_of(node, way)
        number = number_of(other) if other is not None else None
        if way.shape != node.output.shape or not number or node.attributes["fn"] == "div" and way is not node.inputs[0]:
            return None, 1.0
        return way, number if node.attributes["fn"] == "mul" else 1 / number

    @staticmethod
    def is_side_by_side(factors):
        found = merged(factors)
        return not found or len(found) == 1 and found[0][1] == 1

    def behind(self, parts, product, taken):
        """The moves behind the second product, as many as leave rows of heads side by side."""
        moves, value = [], product.output
        stops = [([], value)]
        while self.is_inner(value):
            node = self.consumers[value][0]
            if not self.may(node) or node.op not in ("transpose", "reshape") or node in taken:
                break
            moves.append(node)
            value = node.output
            following = self.consumers.get(value, [])
            if not any(n.origin == node.origin for n in following):
                stops.append((list(moves), value))
        for made, result in reversed(stops):
            view = View.of(result)
            for node in reversed(made):
                view = view and view.before(node)
            if view is not None and self.is_side_by_side(view.dims[-1]) and all(len(merged(d)) < 2 for d in view.dims[-2:]):
                parts.moves, parts.result = made, result
                taken.update(made)
                return
        raise Mismatch("its result does not lie evenly")

    def check_closed(self, parts, taken):
        for node in taken:
            if node.output is parts.result:
                continue
            if node.output in self.outputs or any(c not in taken for c in self.consumers.get(node.output, [])):
                raise Mismatch(f"what {self.place(node)} is read elsewhere, too")
            if any(n not in taken for n in self.units[node]):
                raise Mismatch(f"{self.place(node)} does more than its part of it")


def find(graph, groups, target, allowed=None):
    """Matches, and {product: why it is none} of the candidates that are no attention."""
    units = {n: g.nodes for g in groups for n in g.nodes}
    matcher = Matcher(graph, units, target, allowed)
    found, taken, failed = [], set(), {}
    for product in matcher.candidates():
        try:
            match = matcher.match(product)
        except Mismatch as e:
            failed[product] = str(e)
            continue
        if taken.isdisjoint(match.nodes):
            taken.update(match.nodes)
            found.append(match)
    return found, failed

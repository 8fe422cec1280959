"""Recurrent layers: their steps one after the other, where the length of the sequence is known.

The inputs of all steps are multiplied at once, as they wait for nothing.
"""

import numpy as np

from lowering.builder import op

MOST_STEPS = 64  # each is some calls


class Layer:
    """What LSTM, GRU and RNN have in common: `gates` rows of weights of each direction, and what a step makes of a state."""

    def __init__(self, b, c, gates, activations):
        self.b, self.c, self.gates = b, c, gates
        x, w, r = c[0], c[1], c[2]
        for i, name in ((0, "X"), (1, "W"), (2, "R")):
            c.rank(i, 3, name)
        self.steps, self.batch, self.hidden = x.shape[0].number, x.shape[1], c.number("hidden_size", r.shape[2].number, 1)
        if c.get("layout", 0):
            c.fail("layout: 1 is not supported")
        if self.steps is None or self.steps > MOST_STEPS:
            c.fail(f"a sequence of {x.shape[0]} steps is not supported: at most {MOST_STEPS}, and known (--dim fixes a free dimension)")
        if c[4] is not None:
            c.fail("sequence_lens is not supported")
        if c.get("clip") is not None or c.get("input_forget", 0):
            c.fail("clip and input_forget are not supported")
        direction = c.get("direction", "forward")
        if direction not in ("forward", "reverse", "bidirectional"):
            c.fail(f"direction: {direction[:80]} is none of forward, reverse and bidirectional")
        self.reversed = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
        named = [a.decode() if isinstance(a, bytes) else a for a in c.get("activations", activations * len(self.reversed))]
        if named != activations * len(self.reversed):
            c.fail(f"activations: {str(named)[:80]} are not supported; {' '.join(activations)} are")
        rows = gates * self.hidden
        if not (w.shape[0] == r.shape[0] == len(self.reversed) and w.shape[1] == r.shape[1] == rows and r.shape[2] == self.hidden and
                b.same(w.shape[2], x.shape[2], c.place)):
            c.fail(f"W and R of shapes {b.shown([w.shape, r.shape])} do not go with {len(self.reversed)} directions of {self.hidden} and X of {b.shown([x.shape])}")
        if c[3] is not None and (c[3].rank != 2 or c[3].shape[0] != len(self.reversed) or c[3].shape[1] != 2 * rows):
            c.fail(f"B has the shape {b.shown([c[3].shape])}; [{len(self.reversed)}, {2 * rows}] is wanted")

    def of(self, value, d, begin=0, count=None):
        """Rows of a direction's array."""
        rest = value.shape[1:]
        part = self.b.reshape(self.taken(value, 0, d, 1), rest)
        return part if count is None else self.taken(part, 0, begin, count)

    def taken(self, value, axis, begin, count):
        if value.constant is not None:
            return self.b.constant(np.ascontiguousarray(np.take(value.constant, range(begin, begin + count), axis)), value.type)
        starts = [begin if d == axis else 0 for d in range(value.rank)]
        return self.b.slice(value, starts, [count if d == axis else s for d, s in enumerate(value.shape)], [1] * value.rank)

    def gate(self, value, i):
        return self.taken(value, 1, i * self.hidden, self.hidden)

    def product(self, value, weights):
        columns = self.b.transpose(weights, [1, 0])
        return self.b.add("matmul", [value, columns], [*value.shape[:-1], columns.shape[1]], value.type)

    def bias(self, d, which, begin=0, count=None):
        rows = self.gates * self.hidden
        return self.of(self.c[3], d, which * rows + begin, rows if count is None else count) if self.c[3] is not None else None

    def plus(self, value, *others):
        for o in others:
            value = value if o is None else self.b.map("add", value, o)
        return value

    def initial(self, i, d):
        value = self.c[i]
        if value is None:
            return self.b.broadcast(self.b.scalar(0, self.c[0].type), [self.batch, self.hidden])
        if value.rank != 3 or value.shape[0] != len(self.reversed) or value.shape[2] != self.hidden or not self.b.same(value.shape[1], self.batch, self.c.place):
            self.c.fail(f"an initial state has the shape {self.b.shown([value.shape])}")
        return self.of(value, d)

    def run(self, step, states):
        """`step(d, inputs of the step, states)` returns the states after it. Y, and the last states."""
        b, directions, last = self.b, [], []
        for d, backwards in enumerate(self.reversed):
            inputs = self.plus(self.product(self.c[0], self.of(self.c[1], d)), self.bias(d, 0))
            state = [self.initial(5 + i, d) for i in range(states)]
            made = []
            for t in range(self.steps)[::-1] if backwards else range(self.steps):
                state = step(d, b.reshape(self.taken(inputs, 0, t, 1), [self.batch, inputs.shape[2]]), state)
                made.append(b.reshape(state[0], [1, 1, self.batch, self.hidden]))
            directions.append(self.joined(made[::-1] if backwards else made, 0))
            last.append([b.reshape(s, [1, self.batch, self.hidden]) for s in state])
        return [self.joined(directions, 1), *(self.joined([s[i] for s in last], 0) for i in range(states))]

    def joined(self, parts, axis):
        if len(parts) == 1:
            return parts[0]
        shape = list(parts[0].shape)
        shape[axis] = sum(p.shape[axis] for p in parts)
        return self.b.add("concat", parts, shape, parts[0].type, axis=axis)


@op("LSTM")
def lstm(b, c):
    layer = Layer(b, c, 4, ["Sigmoid", "Tanh", "Tanh"])

    def peephole(d, i, state):
        return None if c[7] is None else b.map("mul", state, layer.of(c[7], d, i * layer.hidden, layer.hidden))

    def step(d, inputs, states):
        h, cell = states
        gates = layer.plus(layer.product(h, layer.of(c[2], d)), layer.bias(d, 1), inputs)
        i = b.map("sigmoid", layer.plus(layer.gate(gates, 0), peephole(d, 0, cell)))
        f = b.map("sigmoid", layer.plus(layer.gate(gates, 2), peephole(d, 2, cell)))
        cell = b.map("add", b.map("mul", f, cell), b.map("mul", i, b.map("tanh", layer.gate(gates, 3))))
        o = b.map("sigmoid", layer.plus(layer.gate(gates, 1), peephole(d, 1, cell)))
        return [b.map("mul", o, b.map("tanh", cell)), cell]
    return layer.run(step, 2)


@op("GRU")
def gru(b, c):
    layer = Layer(b, c, 3, ["Sigmoid", "Tanh"])
    n, after = layer.hidden, bool(c.get("linear_before_reset", 0))

    def step(d, inputs, states):
        h, r = states[0], c[2]
        gates = b.map("sigmoid", layer.plus(layer.product(h, layer.of(r, d, 0, 2 * n)), layer.bias(d, 1, 0, 2 * n), layer.taken(inputs, 1, 0, 2 * n)))
        z, reset = layer.gate(gates, 0), layer.gate(gates, 1)
        if after:
            hidden = b.map("mul", reset, layer.plus(layer.product(h, layer.of(r, d, 2 * n, n)), layer.bias(d, 1, 2 * n, n)))
        else:
            hidden = layer.plus(layer.product(b.map("mul", reset, h), layer.of(r, d, 2 * n, n)), layer.bias(d, 1, 2 * n, n))
        hidden = b.map("tanh", b.map("add", hidden, layer.gate(inputs, 2)))
        return [b.map("add", b.map("mul", b.map("sub", b.scalar(1, h.type), z), hidden), b.map("mul", z, h))]
    return layer.run(step, 1)


@op("RNN")
def rnn(b, c):
    layer = Layer(b, c, 1, ["Tanh"])

    def step(d, inputs, states):
        return [b.map("tanh", layer.plus(layer.product(states[0], layer.of(c[2], d)), layer.bias(d, 1), inputs))]
    return layer.run(step, 1)

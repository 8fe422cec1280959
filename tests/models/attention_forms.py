"""Attention in the forms that exporters write, and in some that are none of ours: nodes for models of the tests."""

import math

import numpy as np
from onnx import helper


class Forms:
    """Nodes, constants and outputs of a model, one attention after the other: `x` [n, T, WIDTH] and `other` [n, KEYS, WIDTH] are what is attended,
    `mask` [n, 1, 1, T] is added and `seen` [n, 1, 1, T] says what is seen."""

    T, KEYS, HEADS, DEPTH = 5, 7, 4, 8
    WIDTH = HEADS * DEPTH

    def __init__(self, rng):
        self.rng, self.nodes, self.constants, self.prefix = rng, [], [], ""

    def constant(self, array):
        self.constants.append((f"{self.prefix}c{len(self.constants)}", np.asarray(array)))
        return self.constants[-1][0]

    def number(self, value):
        return self.constant(np.array(value, np.float32))

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def floats(self, *shape):
        return self.constant((self.rng.standard_normal(shape) / math.sqrt(shape[0] if len(shape) > 1 else 1)).astype(np.float32))

    def node(self, op, inputs, name=None, **attributes):
        name = name or f"{self.prefix}{op}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def linear(self, x, columns):
        return self.node("Add", [self.floats(columns), self.node("MatMul", [x, self.floats(self.WIDTH, columns)])])

    def heads(self, x, perm, count=None):
        shape = self.ints(0, -1, count or self.HEADS, self.DEPTH)
        return self.node("Transpose", [self.node("Reshape", [x, shape])], perm=perm)

    def qkv(self, other="x", key_heads=None):
        count = key_heads or self.HEADS
        return (self.linear("x", self.WIDTH), self.linear(other, count * self.DEPTH), self.linear(other, count * self.DEPTH))

    def result(self, product, name):
        moved = self.node("Transpose", [product], perm=[0, 2, 1, 3])
        return self.node("Reshape", [moved, self.ints(0, 0, self.WIDTH)], name)

    def attended(self, scores, v, name):
        return self.result(self.node("MatMul", [self.node("Softmax", [scores], axis=-1), v]), name)

    # What is attention.

    def eager(self, name):
        """BERT: keys transposed at once, a division, a mask of the keys."""
        q, k, v = self.qkv()
        scores = self.node("MatMul", [self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1])])
        scores = self.node("Add", [self.node("Div", [scores, self.number(math.sqrt(self.DEPTH))]), "mask"])
        return self.attended(scores, self.heads(v, [0, 2, 1, 3]), name)

    def both_scaled(self, name):
        """torch's scaled_dot_product_attention, of another sequence: half of the scale on each operand."""
        q, k, v = self.qkv("other")
        half = self.number(self.DEPTH ** -0.25)
        q = self.node("Mul", [self.heads(q, [0, 2, 1, 3]), half])
        k = self.node("Mul", [self.node("Transpose", [self.heads(k, [0, 2, 1, 3])], perm=[0, 1, 3, 2]), half])
        return self.attended(self.node("MatMul", [q, k]), self.heads(v, [0, 2, 1, 3]), name)

    def flat(self, name):
        """OPT and whisper: queries are scaled before they have heads, sequences and heads are one dimension, but where the mask is added."""
        q, k, v = self.qkv()
        q = self.node("Mul", [q, self.number(self.DEPTH ** -0.5)])
        one = self.ints(-1, self.T, self.DEPTH)
        q, k, v = (self.node("Reshape", [self.heads(x, [0, 2, 1, 3]), one]) for x in (q, k, v))
        scores = self.node("MatMul", [q, self.node("Transpose", [k], perm=[0, 2, 1])])
        scores = self.node("Add", [self.node("Reshape", [scores, self.ints(-1, self.HEADS, self.T, self.T)]), "mask"])
        scores = self.node("Max", [scores, self.number(np.finfo(np.float32).min)])
        scores = self.node("Softmax", [self.node("Reshape", [scores, self.ints(-1, self.T, self.T)])], axis=-1)
        product = self.node("Reshape", [self.node("MatMul", [scores, v]), self.ints(-1, self.HEADS, self.T, self.DEPTH)])
        return self.result(product, name)

    def packed(self, name):
        """ViT: one product for all three, taken apart by Gather; scores of each head have a bias."""
        qkv = self.node("Reshape", [self.linear("x", 3 * self.WIDTH), self.ints(0, 0, 3, self.HEADS, self.DEPTH)])
        qkv = self.node("Transpose", [qkv], perm=[2, 0, 3, 1, 4])
        q, k, v = (self.node("Gather", [qkv, self.constant(np.array(i, np.int64))], axis=0) for i in range(3))
        scores = self.node("MatMul", [self.node("Mul", [q, self.number(0.3)]), self.node("Transpose", [k], perm=[0, 1, 3, 2])])
        return self.attended(self.node("Add", [scores, self.floats(1, self.HEADS, self.T, self.T)]), v, name)

    def split(self, name):
        """GPT-2: one product taken apart by Split, an array of all queries and keys that is added, and a mask of the keys."""
        parts = [f"{self.prefix}part{i}" for i in range(3)]
        self.nodes.append(helper.make_node("Split", [self.linear("x", 3 * self.WIDTH), self.ints(*[self.WIDTH] * 3)], parts, name=f"{self.prefix}Split", axis=2))
        q, k, v = parts
        scores = self.node("MatMul", [self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1])])
        scores = self.node("Mul", [self.number(-0.2), scores])
        causal = np.where(np.tril(np.ones([self.T, self.T])), 0, -np.inf).astype(np.float32)
        scores = self.node("Add", [self.node("Add", [self.constant(causal), scores]), "mask"])
        return self.attended(scores, self.heads(v, [0, 2, 1, 3]), name)

    def grouped(self, name):
        """Two heads of queries share one of keys, which Expand repeats."""
        q, k, v = self.qkv("other", 2)

        def repeated(x):
            x = self.node("Unsqueeze", [self.heads(x, [0, 2, 1, 3], 2), self.ints(2)])
            x = self.node("Expand", [x, self.ints(1, 1, 2, 1, 1)])
            return self.node("Reshape", [x, self.ints(0, self.HEADS, self.KEYS, self.DEPTH)])
        k = self.node("Transpose", [repeated(k)], perm=[0, 1, 3, 2])
        scores = self.node("Div", [self.node("MatMul", [self.heads(q, [0, 2, 1, 3]), k]), self.number(2)])
        return self.attended(scores, repeated(v), name)

    def filled(self, name):
        """masked_fill: what is excluded becomes a number, behind an array of all queries and keys that is added."""
        q, k, v = self.qkv()
        scores = self.node("MatMul", [self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1])])
        scores = self.node("Add", [self.node("Div", [scores, self.number(3)]), self.floats(self.T, self.T)])
        excluded = self.node("Not", [self.node("Cast", ["seen"], to=9)])
        scores = self.node("Where", [excluded, self.number(-10000), scores])
        return self.attended(scores, self.heads(v, [0, 2, 1, 3]), name)

    def guarded(self, name):
        """torch's boolean masks: 0 or -infinity is added, and rows of NaN, which see nothing, become 0."""
        q, k, v = self.qkv()
        scores = self.node("MatMul", [self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1])])
        seen = self.node("Expand", [self.node("Cast", ["seen"], to=9), self.ints(1, 1, self.T, 1)])
        mask = self.node("Where", [seen, self.number(0), self.number(-np.inf)])
        weights = self.node("Softmax", [self.node("Add", [self.node("Mul", [scores, self.number(0.4)]), mask])], axis=-1)
        weights = self.node("Where", [self.node("IsNaN", [weights]), self.number(0), weights])
        return self.result(self.node("MatMul", [weights, self.heads(v, [0, 2, 1, 3])]), name)

    # What is none.

    def read_twice(self, name):
        """The weights are read elsewhere."""
        q, k, v = self.qkv()
        scores = self.node("MatMul", [self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1])])
        weights = self.node("Softmax", [scores], axis=-1)
        y = self.result(self.node("MatMul", [weights, self.heads(v, [0, 2, 1, 3])]), f"{name}_y")
        most = self.node("ReduceMax", [weights], axes=[1], keepdims=0)
        return self.node("Add", [y, self.node("ReduceMax", [most], axes=[1, 2], keepdims=1)], name)

    def scaled_by_head(self, name):
        """A number for each head."""
        q, k, v = self.qkv()
        scores = self.node("MatMul", [self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1])])
        return self.attended(self.node("Mul", [scores, self.floats(self.HEADS, 1, 1)]), self.heads(v, [0, 2, 1, 3]), name)

    def scaled_late(self, name):
        """The scale is of the mask, too."""
        q, k, v = self.qkv()
        scores = self.node("Add", [self.node("MatMul", [self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1])]), "mask"])
        return self.attended(self.node("Mul", [scores, self.number(0.5)]), self.heads(v, [0, 2, 1, 3]), name)

    def over_queries(self, name):
        """The softmax is over the queries."""
        q, k, v = self.qkv()
        scores = self.node("MatMul", [self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1])])
        return self.result(self.node("MatMul", [self.node("Softmax", [scores], axis=-2), self.heads(v, [0, 2, 1, 3])]), name)


MATCHED = ("eager", "both_scaled", "flat", "packed", "split", "grouped", "filled", "guarded")
OTHERS = ("read_twice", "scaled_by_head", "scaled_late", "over_queries")

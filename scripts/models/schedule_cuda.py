"""The Lua schedule of a group that the graph generator computes on a GPU: a block a row where all is of rows, else a thread an element, in
kernels for the result and for reductions that its threads cannot sum.

It is right for any sizes: products of ours have tiles, what is here has none.
"""

import schedule

HEAD = '''-- {summary}
local elements, grid, reduce = require("lib.gpu_elementwise").elements, require "lib.gpu_grid", require "lib.gpu_reduce"
return schedule "graph" {{
  target = "cuda",
  apply = function(k)
{body}
  end,
}}
'''

THREADS = 128


def of_graph(form):
    """Of the JSON that the generator reads."""
    nodes = {n["name"]: n for n in form["nodes"]}
    out = nodes[form["outputs"][0]]
    writer = Writer(nodes, out, {i["name"]: i for i in form["inputs"]})
    return HEAD.format(summary=writer.summary, body="\n".join("    " + line for line in writer.lines()))


def stored(form):
    """(node, bytes of an element) of each array that the kernels of a group store for each other."""
    nodes = {n["name"]: n for n in form["nodes"]}
    writer = Writer(nodes, nodes[form["outputs"][0]], {i["name"]: i for i in form["inputs"]})
    inner = writer.inner()
    for n in [] if writer.is_rows() else writer.reductions:
        if n is not inner:
            wide = 8 if n["type"] in schedule.NARROW else 4
            yield n["name"], wide
            if n["op"] == "arg":
                yield n["name"], 4


class Writer(schedule.Writer):
    def lines(self):
        if self.is_rows():
            return self.rows()
        lines = []
        self.summary, inner = "A thread an element.", self.inner()
        for n in self.reductions:
            if n is not inner:
                lines += self.reduced(n)
        # Of three fused loops Halide 21 does not see that a thread has one element: what is computed there would be memory for all of them.
        lines.append(self.over("k.out0", self.loops(self.out), 2 if inner is not None else self.rank))
        if inner is not None:
            func = f"k.{self.func_of(inner)}"
            lines += [f'{func}:compute_at(k.out0, "thread")', f"{func}:update(0):never_partition_all()"]
        return lines

    def is_rows(self):
        """Whether a block can compute a row of the result, with all that is summed over it."""
        return self.rank > 1 and bool(self.reductions) and all(self.is_of_rows(n) and n["fn"] in ("sum", "max", "min") and n["type"] == "float32"
                                                              for n in self.reductions)

    def rows(self):
        self.summary = "A block a row: its threads sum it together, then each computes its elements."
        length = self.out["shape"][-1]
        threads = min(max(1 << (length // 4).bit_length(), 32), 256) if isinstance(length, int) else THREADS
        lines = [f'local o = {{ at = {{ k.out0, "x1" }}, threads = {threads}, vector = 1, unroll = 1 }}', 'grid.over_threads(k.out0, "x0", o)',
                 'k.out0:reorder("lane", "step", "chunk", "thread"):gpu_threads("thread")', "grid.in_registers(k.out0)",
                 f"o.at[2] = grid.over_blocks(k.out0, {{ {', '.join(map(schedule.quote, self.loops(self.out, 0)))} }})"]
        return lines + [f'reduce.in_block(k.{self.func_of(n)}, "r", o)' for n in self.reductions]

    def inner(self):
        """What the thread of an element of the result sums; others are stored."""
        found = [n for n in self.reductions if n["op"] in ("matmul", "conv", "conv_transpose", "pool", "reduce") and n["shape"] == self.out["shape"]]
        is_alone = len(found) == 1 and self.rank > 0 and all(m["op"] in ("map", "constant", "sizes") or all(s == 1 for s in m["shape"]) or
                                                             m is found[0] or self.is_before(m, found[0]) for m in self.nodes.values())
        return found[0] if is_alone else None

    def is_before(self, node, other):
        """Whether a node is read by another, through any others."""
        wanted, seen = [other], set()
        while wanted:
            n = wanted.pop()
            if n is node:
                return True
            for name in n["in"]:
                if name in self.nodes and name not in seen:
                    seen.add(name)
                    wanted.append(self.nodes[name])
        return False

    @staticmethod
    def loops(node, without=None):
        rank = len(node["shape"])
        return [f"x{d}" for d in range(rank) if d != without]

    @staticmethod
    def over(stage, loops, fused=None):
        """`fused`: how many of the loops are one; those around them are blocks."""
        if not loops:
            return f"{stage}:gpu_single_thread()"
        rows, blocks = (", ".join(map(schedule.quote, part)) for part in (loops[:fused], loops[len(loops[:fused]):]))
        return f"elements({stage}, {{ rows = {{ {rows} }}, {f'blocks = {{ {blocks} }}, ' if blocks else ''}threads = {THREADS} }})"

    def reduced(self, n):
        func = f"k.{self.func_of(n)}"
        axis = len(n["shape"]) - 1 - n["axis"] if n["op"] == "cumsum" else None
        lines = [f"{func}:compute_root()", self.over(func, self.loops(n)), self.over(f"{func}:update(0)", [] if n["op"] == "scatter" else self.loops(n, axis))]
        if n["op"] == "cumsum":
            lines.append(self.over(f"{func}:update(1)", self.loops(n, axis)))
        return lines

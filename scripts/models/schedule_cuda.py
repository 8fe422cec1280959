"""The Lua schedule of a group that the graph generator computes on a GPU: a thread an element, in kernels for the reductions and the result.

It is a first form, right for any sizes: products of ours have tiles, what is here has none.
"""

import schedule

HEAD = '''-- {summary}
local elements = require("lib.gpu_elementwise").elements
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


class Writer(schedule.Writer):
    def lines(self):
        lines = []
        self.summary, inner = "A thread an element.", self.inner()
        for n in self.reductions:
            if n is not inner:
                lines += self.reduced(n)
        lines.append(self.over("k.out0", self.loops(self.out)))
        if inner is not None:
            lines.append(f'k.{self.func_of(inner)}:compute_at(k.out0, "thread")')
        return lines

    def inner(self):
        """A product or window that the thread of an element of the result computes; others are stored."""
        found = [n for n in self.reductions if n["op"] in ("matmul", "conv", "conv_transpose", "pool") and n["shape"] == self.out["shape"]]
        is_alone = len(found) == 1 and self.rank > 0 and all(m["op"] in ("map", "constant", "sizes") or m is found[0] or self.is_before(m, found[0])
                                                             for m in self.nodes.values())
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
    def over(stage, loops):
        if not loops:
            return f"{stage}:gpu_single_thread()"
        return f"elements({stage}, {{ rows = {{ {', '.join(map(schedule.quote, loops))} }}, threads = {THREADS} }})"

    def reduced(self, n):
        func = f"k.{self.func_of(n)}"
        axis = len(n["shape"]) - 1 - n["axis"] if n["op"] == "cumsum" else None
        lines = [f"{func}:compute_root()", self.over(func, self.loops(n)), self.over(f"{func}:update(0)", self.loops(n, axis))]
        if n["op"] == "cumsum":
            lines.append(self.over(f"{func}:update(1)", self.loops(n, axis)))
        return lines

"""The Lua schedule of a group that the graph generator computes: one that is right for any sizes, and fast enough to begin with.

The result is cut into tasks and vectors. A product is computed in tiles of registers within them, other reductions by vectors of
results where they lie side by side, else in lanes.
"""

import re

HEAD = '''-- {summary}
{library}return schedule "graph" {{
  target = "cpu",
{params}  apply = function(k, p, target)
    local lanes = target:lanes "{lanes}"
{body}
  end,
}}
'''

TASK = 4096  # elements that a task computes
MOST_PARTS = 16  # of a Concat along another dimension than the innermost: a loop for each
TASKS = (512, 1024, 2048, 4096, 8192, 16384, 65536)
NARROW = {"float64": "f64", "int64": "f64", "uint64": "f64"}


def of_graph(form):
    """Of the JSON that the generator reads."""
    nodes = {n["name"]: n for n in form["nodes"]}
    out = nodes[form["outputs"][0]]
    writer = Writer(nodes, out, {i["name"]: i for i in form["inputs"]})
    body = writer.lines()
    if writer.is_turned_row():  # Halide 21 fails on a vector with a guard that is read backwards where no loop is around it
        body = [re.sub(r"(:atomic\(\))?:vectorize\([^()]*\)", "", line) for line in body]
        body = [line for line in body if not re.fullmatch(r"k\.\w+(:update\(0\))?", line)]
    return HEAD.format(summary=writer.summary, library=writer.library, lanes=NARROW.get(out["type"], "f32"), params=writer.parameters(body),
                       body="\n".join("    " + line for line in body))


def opened_in(text):
    """{parameter: its values} of what such a schedule leaves open; the default first."""
    found = {}
    for name, values, default in re.findall(r"^    (\w+) = tune \{ ([\d, ]+), default = (\d+) \}", text, re.M):
        found[name] = [default, *values.split(", ")]
    return found


def is_one(size):
    return size == 1


def is_of_levels(node):
    """A product of two arrays of whole numbers of 8 bits with their zeros."""
    return node["op"] == "matmul" and len(node["in"]) == 4


class Writer:
    def __init__(self, nodes, out, inputs):
        self.nodes, self.out, self.values = nodes, out, {**inputs, **nodes}
        self.rank = len(out["shape"])
        self.reductions = [n for n in nodes.values() if n["op"] in ("reduce", "matmul", "conv", "conv_transpose", "pool", "arg", "cumsum", "scatter")]
        self.summary = "One pass: all steps in registers."
        self.opened = {}  # parameter: (values, default, what it is)
        self.library = ""  # read before the schedule: a kernel in the cache is of the text that it had

    def open(self, name, values, default, what):
        """A number that a group may set, and a search tries."""
        self.opened[name] = (values, default, what)
        return f"p.{name}"

    def parameters(self, body):
        text = "\n".join(body)
        lines = [f"    {name} = tune {{ {', '.join(map(str, values))}, default = {default} }}, -- {what}\n"
                 for name, (values, default, what) in self.opened.items() if f"p.{name}" in text]
        return "  params = {\n" + "".join(lines) + "  },\n" if lines else ""

    def lines(self):
        if self.rank == 0:
            return self.apart()
        if (concat := self.joined_parts()) is not None:
            return self.joined(concat)
        products = [n for n in self.reductions if n["op"] in ("matmul", "conv", "conv_transpose", "pool")]
        if len(self.reductions) == 1 and products and self.is_window(products[0]) and self.has_result_shape(products[0]):
            return self.windows(products[0])
        if len(self.reductions) == 1 and products and self.has_result_shape(products[0]):
            return self.levels(products[0]) if is_of_levels(products[0]) else self.tiles(products[0])
        return self.apart()

    def is_window(self, node):
        """Whether lib/windows.lua has its tiles: a convolution with packed weights or of each channel, and a pool like that."""
        return node.get("panel", -1) >= 0 or \
            node["op"] == "pool" and node.get("last", False) and node["type"] == "float32" and self.rank > 2 and not self.narrow(node["shape"])

    def has_result_shape(self, node):
        return node["shape"] == self.out["shape"]

    @staticmethod
    def func_of(node):
        """The Func with the updates."""
        half = node["type"] in ("float16", "bfloat16")
        if node["op"] in ("conv", "conv_transpose", "pool") or is_of_levels(node):
            return node["name"] + "_acc"
        if node["op"] == "arg":
            return node["name"] + "_best"
        if node["op"] == "cumsum":
            return node["name"] + "_sums"
        if node["op"] == "scatter":
            return node["name"] + "_scattered"
        return node["name"] + "_sum" if half else node["name"]

    def tasks(self, func, shape, first=(), names=None):
        """The loops but the innermost as parallel tasks of some thousand elements; `first` are loops that become tasks, too."""
        loops = [*first, *(names or [f"x{d}" for d in range(1, len(shape))])]
        if not loops:
            return []
        lines = []
        row = shape[-1] if isinstance(shape[-1], int) and shape[-1] > 0 else TASK // 8
        if row < TASKS[-1] and not first:
            # Short dimensions stay whole within a task, so that few loops are fused, and each task finds its place by few divisions.
            extents = list(reversed(shape[:-1]))
            while loops and isinstance(extents[0], int) and row * extents[0] <= TASK:
                row *= max(extents.pop(0), 1)
                loops.pop(0)
            if not loops:
                return []
            task = self.open("task", TASKS, TASK, "elements of a task")
            lines.append(f'{func}:split("{loops[0]}", math.max({task} // {row}, 1), "guard", "task", "step")')
            loops[0] = "task"
        loop = loops[0]
        for other in loops[1:]:
            lines.append(f'{func}:fuse("{loop}", "{other}", "task_{other}")')
            loop = f"task_{other}"
        return [*lines, f'{func}:parallel("{loop}")']

    def vector(self, func):
        return f'{func}:vectorize("x0", lanes, "guard")'

    def is_turned_row(self):
        """Whether a slice goes backwards along the one row that there is, or along one of a known length that all rows read."""
        turned = [n for n in self.nodes.values() if n["op"] == "slice" and n["steps"][-1:] == [-1]]

        def is_row(value):
            return all(s == 1 for s in value["shape"][:-1])
        return bool(turned) and (any(is_row(n) for n in [*turned, self.out]) or
                                 any(is_row(v) and v["shape"] and isinstance(v["shape"][-1], int) and v["shape"][-1] > 1 for v in self.values.values()))

    def narrow(self, shape):
        """Whether the innermost dimension is too short for a vector."""
        return bool(shape) and isinstance(shape[-1], int) and shape[-1] < 4

    def tiles(self, node):
        self.summary = "Tiles of the result stay in registers while the sum runs."
        func, y = f"k.{self.func_of(node)}", "k.out0"
        product = node["op"] == "matmul"
        # Rows of a product share its columns, channels of a convolution the image.
        other = self.shared_loop(node)
        shared = "rows" if product and other == "x1" else 4 if other else 1
        wide = not self.narrow(self.out["shape"])
        inner = (["xi"] if wide else []) + (["si"] if other else [])
        outer = ["xo" if wide else "x0"] + ["so" if f"x{d}" == other else f"x{d}" for d in range(1, self.rank)]

        def tiles(stage, tail):
            made = []
            if wide:
                made.append(f'{stage}:split("x0", 2 * lanes, {tail}, "xo", "xi")')
                made.append(f'{stage}:vectorize("xi", lanes, "guard")')
            if other:
                made.append(f'{stage}:split("{other}", {shared}, {tail}, "so", "si")')
            made.append(f"{stage}:reorder({', '.join(quote(n) for n in inner + outer)})")
            tasks = outer[1:]
            loop = tasks[0] if tasks else outer[0]
            for following in tasks[1:]:
                made.append(f'{stage}:fuse("{loop}", "{following}", "task_{following}")')
                loop = f"task_{following}"
            made.append(f'{stage}:parallel("{loop}")')
            return made
        lines = [*self.frame(node), *(["local rows = p.rows > 0 and p.rows or lanes >= 16 and 8 or 4 -- of a tile, with 32 registers or with 16"] if shared == "rows" else [])]
        if shared == "rows":
            self.open("rows", (0, 2, 4, 6, 8, 12), 0, "of a register tile; 0: what suits the registers")
        if wide:  # where all tiles are whole, or moved inwards, their sums are in registers
            is_whole = f"{y}:dim(0):extent():at_least(2 * lanes)" + (f":and_({y}:dim({other[1:]}):extent():at_least({shared}))" if other else "")
            lines += ["local function tiles(y, tail)", *(f"  {line}" for line in tiles("y", "tail")), "end",
                      f'tiles({y}:specialize({is_whole}), "shift_inwards")', f'tiles({y}, "guard")']
        else:
            lines += tiles(y, '"guard"')
        lines.append(f'{func}:compute_at({y}, "{outer[0]}")')
        update = f"{func}:update(0)"
        if wide:
            lines.append(self.vector(func))
        loops = ["x0"] + ([other] if other else []) + self.sums(node)
        lines.append(f"{update}:reorder({', '.join(quote(n) for n in loops)})")
        if wide:
            lines.append(f'{update}:vectorize("x0", lanes, "guard")')
            lines.append(f'{update}:unroll("x0", 2, "guard")')
        if other:
            lines.append(f'{update}:unroll("{other}", {shared}, "guard")')
        if product and not wide and node["type"] == "float32":
            lines.append(f'{update}:reorder("r", "x0"{", " + quote(other) if other else ""}):atomic():vectorize("r", 2 * lanes, "guard")')
        return lines

    def levels(self, node):
        """A product of whole numbers of 8 bits: four neighbours along the depth are one instruction."""
        self.summary = "Columns lie in groups of four along the depth; tiles of the result stay in registers while the sum runs."
        self.open("rows", (0, 2, 4, 6, 8, 12), 0, "of a register tile; 0: what suits the registers")
        self.library = 'local gemm = require "lib.gemm"\n\n'
        name, heads = f"k.{node['name']}", [f"x{d}" for d in range(2, self.rank)]
        tile = ['y:split("x0", columns, tail, "xo", "xi")', 'y:vectorize("xi", lanes, "guard")', 'y:split("x1", rows, tail, "so", "si")',
                f"y:reorder({', '.join(map(quote, ['xi', 'si', 'xo', 'so', *heads]))})"]
        task = heads[0] if heads else "so"
        for other in heads[1:]:
            tile.append(f'y:fuse("{task}", "{other}", "task_{other}")')
            task = f"task_{other}"
        tile.append(f'y:parallel("{task}")')
        lines = ["local rows = p.rows > 0 and p.rows or lanes >= 16 and 8 or 4 -- of a tile, with 32 registers or with 16", "local y = k.out0",
                 "local function tiles(y, columns, tail)", *(f"  {line}" for line in tile), "end",
                 "for _, columns in ipairs { 2 * lanes, lanes } do -- where all tiles are whole, or moved inwards, their sums are in registers",
                 '  tiles(y:specialize(y:dim(0):extent():at_least(columns):and_(y:dim(1):extent():at_least(rows))), columns, "shift_inwards")', "end",
                 'tiles(y, lanes, "guard")',
                 f'{name}_rows:compute_at(y, "so"):vectorize("along", 4 * lanes, "round_up")',
                 f'{name}_columns:vectorize("x0", lanes, "round_up"):unroll("member")',
                 f'{name}_columns:' + (f'compute_at(y, "{task}")' if heads else "compute_root()")]
        rows, columns = node["terms"]
        if rows:
            lines += [f'{name}_row_sum:compute_at(y, "so")', f'{name}_row_sum:update(0):atomic():vectorize("r", 2 * lanes, "guard")']
        if columns:
            lines += [f'{name}_column_sum:' + (f'compute_at(y, "{task}")' if heads else "compute_root()") + ':vectorize("x0", lanes, "guard")',
                      f'{name}_column_sum:update(0):split("r", 4, "guard", "groups", "member")',
                      f'{name}_column_sum:update(0):reorder("member", "x0", "groups"):unroll("member"):vectorize("x0", lanes, "guard")']
        update = f"{name}_acc:update(0)"
        return [*lines, f'{name}_acc:compute_at(y, "xo"):store_in("stack"):vectorize("x0", lanes, "guard"):unroll("x0", 2, "guard"):unroll("x1", rows, "guard")',
                f'{update}:split("r", 4, "guard", "groups", "member")', f'{update}:reorder("member", "x0", "x1", "groups")',
                f'if gemm.has_dot(target, "u8") then {update}:atomic():vectorize("member") else {update}:unroll("member") end',
                f'{update}:vectorize("x0", lanes, "guard"):unroll("x0", 2, "guard"):unroll("x1", rows, "guard")']

    def windows(self, node):
        """A convolution or a pool with channels innermost: lib/windows.lua has its tiles."""
        self.summary = "Tiles of pixels and channels stay in registers while the window goes by."
        options = [f"rank = {self.rank}"]
        if self.rank > 2:
            options.append("band = " + self.open("band", (2, 4, 8, 16, 32), 8, "rows of the image in a task"))
        else:
            options.append("task = " + self.open("task", (4, 8, 16, 32, 64), 16, "tiles in a task"))
            if node.get("panel", 0) > 0:
                options.append("block = " + self.open("block", (1, 2, 4, 8, 16), 2, "tasks whose rows stay in L2"))
        options.append("pixels = " + self.open("pixels", (0, 2, 4, 6, 7, 8, 9, 10, 12, 14), 0, "of a register tile; 0: what suits the registers"))
        width = node["shape"][-2] if self.rank > 2 else None
        options.append(f"width = {width}" if isinstance(width, int) else "width = nil")
        if not all(node["inside"]):
            options.append(f"pad = k.{node['name']}_pad")
        taps = 1
        for k in node["kernel"]:
            taps *= k
        options.append("sums = { " + ", ".join(map(quote, self.sums(node))) + " }")
        packed = node.get("panel", 0) > 0
        if packed:
            channels = self.values[node["in"][0]]["shape"][-1]
            narrow = isinstance(channels, int) and channels <= 4
            options += [f"panel = {node['panel']}", f"narrow = {'true' if narrow else 'false'}"]
            if narrow and self.lies_in_planes(node["in"][0]):
                options.append("planes = true")
        else:
            options.append(f"taps = {taps}")
        self.library = 'local windows = require "lib.windows"\n\n'
        function = "product" if packed else "of_channels"
        return [f'windows.{function}(target, k.out0, k.{node["name"]}_acc, {{ {", ".join(options)} }})']

    def lies_in_planes(self, name):
        """Whether an image is read from an array that has its channels outside of its pixels."""
        node = self.nodes.get(name)
        return node is not None and node["op"] == "transpose" and node["perm"][-2] == len(node["perm"]) - 1

    def shared_loop(self, node):
        """The loop whose neighbours read the same operand, or ""."""
        if node["op"] == "matmul":
            return "x1" if self.rank > 1 and self.out["shape"][-2] != 1 else ""
        if node.get("last"):
            return ""
        channels = self.out["shape"][1] if self.rank > 2 else 1
        return f"x{self.rank - 2}" if node["op"] == "conv" and node["groups"] == 1 and isinstance(channels, int) and channels >= 4 else ""

    @staticmethod
    def is_framed(node):
        return node["op"] in ("conv", "pool") and not all(node["inside"])

    def frame(self, node):
        """The image with what stands around it is stored once."""
        if not self.is_framed(node):
            return []
        func = f"k.{node['name']}_pad"
        shape = self.values[node["in"][0]]["shape"]
        return [f"{func}:compute_root()", *([] if self.narrow(shape) else [self.vector(func)]), *self.tasks(func, shape)]

    @staticmethod
    def sums(node):
        if node["op"] == "matmul":
            return ["r"]
        count = len(node["kernel"]) + (0 if node["op"] == "pool" or node.get("panel") == 0 else 1)
        return ["r"] if count == 1 else [f"r_{'xyzw'[i]}" for i in range(count)]

    def apart(self):
        """Reductions are stored whole, one after the other; the result reads them."""
        lines = []
        rowwise = self.rank > 1 and all(self.is_of_rows(n) for n in self.reductions) and self.reductions
        for n in [] if rowwise else self.reductions:
            lines += self.frame(n) + self.stored(n)
        wide = self.rank > 0 and not self.narrow(self.out["shape"])
        if wide:
            lines.append(self.vector("k.out0"))
        if rowwise:
            self.summary = "A row at a time: its reductions, then its result."
            lines += self.rows()
        else:
            lines += self.tasks("k.out0", self.out["shape"])
        return lines

    def joined_parts(self):
        """A Concat whose parts can be put through all that is behind it, functions of elements, one by one; as generators/graph/nodes.h has it."""
        found = None
        for c in self.nodes.values():
            if c["op"] != "concat" or c["axis"] + 1 < len(c["shape"]) and len(c["in"]) > MOST_PARTS:
                continue
            behind, fits = {c["name"]}, True
            for n in self.nodes.values():
                if any(i in behind for i in n["in"]):
                    fits = fits and n["op"] == "map" and n["shape"] == c["shape"]
                    behind.add(n["name"])
            if fits and self.out["name"] in behind:
                found = c
        return found

    def joined(self, concat):
        """Parts behind each other: each is a loop of its own."""
        self.summary = "Several arrays behind each other."
        lines = []
        for n in self.reductions:
            lines += self.frame(n) + self.stored(n)
        along = self.rank - 1 - concat["axis"]
        for i, name in enumerate(concat["in"]):
            part, shape = f"k.out0:update({i})", self.values[name]["shape"]
            loops = [f"part{i}" if d == along else f"x{d}" for d in range(self.rank)]
            lines.append(f"{part}:reorder({', '.join(map(quote, loops))})")
            if not self.narrow(shape):
                lines.append(f'{part}:vectorize("{loops[0]}", lanes, "guard")')
            # Halide fuses no loop of the part into one of the others: where others lie within it, it makes the tasks alone.
            lines += self.tasks(part, shape, names=loops[1:]) if along < 2 else self.tasks_of_part(part, f"part{i}", list(reversed(shape))[:along + 1])
        return lines

    def tasks_of_part(self, func, loop, extents):
        """`extents`: of the loops within it, the innermost first, and of itself."""
        *within, own = extents
        row = 1
        for n in within:
            row *= n if isinstance(n, int) and n > 0 else TASK // 64
        if isinstance(own, int) and own * row <= TASK:
            return []
        task = self.open("task", TASKS, TASK, "elements of a task")
        return [f'{func}:split("{loop}", math.max({task} // {row}, 1), "guard", "task", "step")', f'{func}:parallel("task")']

    def is_of_rows(self, node):
        """A reduction over the innermost dimension, kept, in a result with rows as long."""
        rank = len(node["shape"])
        return node["op"] == "reduce" and node["type"] in ("float32", "float64") and node["axes"] == [rank - 1] and node["keep"] \
            and rank == self.rank and node["shape"][:-1] == self.out["shape"][:-1] and not is_one(self.out["shape"][-1])

    def rows(self):
        length = self.out["shape"][-1]
        most = min(max(TASK // length, 1), 8 if length >= 128 else 64) if isinstance(length, int) else 8
        most = 1 << most.bit_length() - 1
        rows = self.open("rows", (1, 2, 4, 8, 16, 32, 64, 128), most, "of a task")
        loops, extents, inner = [f"x{d}" for d in range(1, self.rank)], list(reversed(self.out["shape"][:-1])), 1
        row = loops[0]
        # Short dimensions stay whole within a task: a task finds its place by few divisions.
        while len(loops) > 1 and isinstance(extents[0], int) and inner * extents[0] <= most:
            inner *= max(extents.pop(0), 1)
            loops.pop(0)
        loop = "task"
        lines = [f'k.out0:split("{loops[0]}", math.max({rows} // {inner}, 1), "guard", "task", "step")']
        row = "step" if row == loops[0] else row
        for other in loops[1:]:
            lines.append(f'k.out0:fuse("{loop}", "{other}", "task_{other}")')
            loop = f"task_{other}"
        lines.append(f'k.out0:parallel("{loop}")')
        # Of rows that are shorter than two vectors, no more than the next power of two.
        wide = f"math.min(2 * lanes, {1 << (length - 1).bit_length()})" if isinstance(length, int) and length < 64 else "2 * lanes"
        for n in self.reductions:
            lines.append(f'k.{self.func_of(n)}:compute_at(k.out0, "{row}")')
            lines.append(f'k.{self.func_of(n)}:update(0):atomic():vectorize("r", {wide}, "guard")')
        # What several steps of a row read is computed once.
        for n in self.nodes.values():
            readers = [m for m in self.nodes.values() if n["name"] in m["in"]]
            if n["op"] == "map" and len(readers) > 1 and n["shape"] == self.out["shape"] and n is not self.out:
                lines.append(f'k.{n["name"]}:compute_at(k.out0, "{row}"):vectorize("x0", lanes, "guard")')
        return lines

    def stored(self, n):
        func = f"k.{self.func_of(n)}"
        rank = len(n["shape"])
        lines = [f"{func}:compute_root()"]
        if rank == 0 and n["op"] == "reduce" and n["type"] == "float32":
            return [*lines, f'{func}:update(0):atomic():vectorize("{self.sum_loops(n)[0]}", 2 * lanes, "guard")']
        if rank == 0 or n["op"] == "cumsum":
            return lines
        update = f"{func}:update(0)"
        lines += self.tasks(func, n["shape"])
        if n["op"] == "scatter":  # one element after the other
            return lines
        if n["op"] == "arg":
            return lines + self.tasks(update, n["shape"])
        if self.narrow(n["shape"]):
            return lines + self.tasks(update, n["shape"])
        lines.append(self.vector(func))
        outer = [f"x{d}" for d in range(1, rank)]
        lines.append(f'{update}:split("x0", lanes, "guard", "vectors", "lane")')
        lines.append(f"{update}:reorder({', '.join(quote(v) for v in ['lane', *self.sum_loops(n), 'vectors', *outer])})")
        lines.append(f'{update}:vectorize("lane")')
        return lines + self.tasks(update, n["shape"], ["vectors"])

    def sum_loops(self, n):
        if n["op"] != "reduce":
            return self.sums(n)
        count = len(n["axes"])
        return ["r"] if count == 1 else [f"r_{'xyzw'[i]}" for i in range(count)]


def quote(text):
    return f'"{text}"'

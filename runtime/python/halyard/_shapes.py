"""What the registry says of an op's arguments: x[cols,rows] weight[cols] eps=1e-6 -> y[cols,rows], innermost dimension first.

An extent is a name, which the first input that has it gives a value, or arithmetic over names and the numbers among the
parameters of the generator.
"""

import re

# Of other scalars the registry has numbers to test and measure with: no call should get those unasked.
USUAL = {"eps", "ignore_index"}


class Argument:
    def __init__(self, word):
        self.name, self.optional, extents, self.value = re.fullmatch(r"(\w+)(\?)?(?:\[(.*)\])?(?:=(.*))?", word).groups()
        self.extents = None if extents is None else _parts(extents)


def _parts(text):
    """Split by commas that stand in no parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def _number(text):
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return None


def _compiled(expression):
    return compile(expression.replace("^", "**"), "registry", "eval")


class Signature:
    """Of one library: the registry's line, the arguments that the library has, and the values of its parameters."""

    def __init__(self, text, arguments, params):
        self.by_name = {a.name: a for a in map(Argument, (text or "").replace("->", "").split())}
        self.arguments = arguments  # as Function.arguments has them
        self.known = {k: n for k, v in params.items() if (n := _number(v)) is not None}
        for a in self.by_name.values():
            if a.name not in params and a.name in ("kernel", "stride", "dilation", "padding") and a.value is not None:
                self.known[a.name] = _number(a.value)
        self.packed = {}  # of arguments with packed weights: the name of the columns, of which the extents tell only the panels
        self.places = {}  # of the names of extents: number of the argument, dimension
        for i, (name, kind, _, dimensions, _) in enumerate(arguments):
            extents = self._extents(name)
            if kind == "input" and extents and len(extents) == dimensions:
                for d, extent in enumerate(extents):
                    if extent.isidentifier() and extent not in self.known:
                        self.places.setdefault(extent, (i, d))
                    elif columns := re.fullmatch(r"\((\w+)\+panel-1\)//panel", extent):
                        self.packed[i] = columns[1]

    def _extents(self, name):
        return self.by_name[name].extents if name in self.by_name else None

    def plain_extents(self):
        """(output, dimension, argument, dimension) of every extent of every output, or None where some are arithmetic."""
        plain = []
        for i, (name, kind, _, dimensions, _) in enumerate(self.arguments):
            if kind != "output":
                continue
            extents = self._extents(name)
            if not extents or len(extents) != dimensions or any(e not in self.places for e in extents):
                return None
            plain += [(i, d, *self.places[e]) for d, e in enumerate(extents)]
        return plain

    def _values(self, shapes):
        """The names with their values; shapes are Python's, outermost dimension first. Packed weights of Op.pack() have their columns
        before the others."""
        columns = {name: shapes[i][0] for i, name in self.packed.items() if len(shapes[i]) > self.arguments[i][3]}
        return {**columns, **self.known, **{name: shapes[i][-1 - d] for name, (i, d) in self.places.items()}}

    def shapes(self, shapes):
        """Of every output, as Python has them. Raises KeyError with the name that no input says."""
        values, result = self._values(shapes), []
        for name, kind, _, _, _ in self.arguments:
            if kind == "output":
                extents = self._extents(name)
                if extents is None:
                    raise KeyError(name)
                result.append(tuple(self._evaluate(e, values) for e in reversed(extents)))
        return tuple(result)

    @staticmethod
    def _evaluate(expression, values):
        try:
            return eval(_compiled(expression), {"__builtins__": {}}, values)
        except NameError as e:
            raise KeyError(e.name) from None

    def default(self, name):
        """Of a scalar: a number, True where it depends on the shapes, None where a call has to give it."""
        a = self.by_name.get(name)
        if a is None or a.value is None or a.optional:
            return None
        number = _number(a.value)
        if number is not None:
            return number if name in USUAL else None
        names = _compiled(a.value).co_names
        return True if all(n in self.places or n in self.known for n in names) else None

    def computed_default(self, name, shapes):
        return self._evaluate(self.by_name[name].value, self._values(shapes))

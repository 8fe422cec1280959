"""Sizes of arrays: polynomials over the free dimensions of a model, with whole numbers as coefficients.

What is no polynomial, a division that leaves a rest or a maximum, is an atom that stands in one as a dimension does.
"""

import functools


class Size:
    """A polynomial: {atoms of a term, sorted: coefficient}. An atom is the name of a dimension or (function, Size, Size)."""

    __slots__ = ("terms", "_hash")

    def __init__(self, terms):
        self.terms = {atoms: c for atoms, c in terms.items() if c != 0}
        self._hash = hash(frozenset(self.terms.items()))

    @staticmethod
    def of(value):
        if isinstance(value, Size):
            return value
        return Size({(): int(value)})

    @staticmethod
    def dimension(name):
        return Size({(name,): 1})

    @property
    def number(self):
        """Its value where no dimension is in it, else None."""
        if not self.terms:
            return 0
        return self.terms[()] if list(self.terms) == [()] else None

    def __hash__(self):
        return self._hash

    def __eq__(self, other):
        return isinstance(other, (int, Size)) and self.terms == Size.of(other).terms

    def __add__(self, other):
        terms = dict(self.terms)
        for atoms, c in Size.of(other).terms.items():
            terms[atoms] = terms.get(atoms, 0) + c
        return Size(terms)

    __radd__ = __add__

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + Size.of(other) * -1

    def __rsub__(self, other):
        return Size.of(other) - self

    def __mul__(self, other):
        terms = {}
        for a, c in self.terms.items():
            for b, d in Size.of(other).terms.items():
                atoms = tuple(sorted(a + b, key=_order))
                terms[atoms] = terms.get(atoms, 0) + c * d
        return Size(terms)

    __rmul__ = __mul__

    def exactly_divided(self, other):
        """The quotient where it leaves no rest whatever the dimensions are, else None: by one term only."""
        other = Size.of(other)
        if self == other:
            return Size.of(1)
        if len(other.terms) != 1 or other == 0:
            return None
        (atoms, c), = other.terms.items()
        terms = {}
        for mine, d in self.terms.items():
            left = list(mine)
            for a in atoms:
                if a not in left:
                    return None
                left.remove(a)
            if d % c != 0:
                return None
            terms[tuple(left)] = d // c
        return Size(terms)

    def __floordiv__(self, other):
        other = Size.of(other)
        if other == 0:
            raise ZeroDivisionError("a size is divided by 0")
        exact = self.exactly_divided(other)
        if exact is not None:
            return exact
        if self.number is not None and other.number is not None:
            return Size.of(self.number // other.number)
        # (a // m) // n = a // (m n)
        if other.number is not None and len(self.terms) == 1:
            (atoms, c), = self.terms.items()
            if c == 1 and len(atoms) == 1 and isinstance(atoms[0], tuple) and atoms[0][0] == "div" and atoms[0][2].number is not None:
                return atoms[0][1] // (atoms[0][2] * other)
        # (a n + b) // n = a + b // n, so that what is computed in two ways is the same.
        if other.number is not None:
            whole = Size({atoms: c // other.number for atoms, c in self.terms.items() if c % other.number == 0})
            rest = Size({atoms: c for atoms, c in self.terms.items() if c % other.number != 0})
            if whole.terms and rest.terms:
                return whole + rest // other
        return Size({(("div", self, other),): 1})

    def __mod__(self, other):
        return self - self // other * other

    def largest(self, other):
        return self._either("max", Size.of(other), max)

    def smallest(self, other):
        return self._either("min", Size.of(other), min)

    def _either(self, name, other, function):
        if self == other:
            return self
        if self.number is not None and other.number is not None:
            return Size.of(function(self.number, other.number))
        pair = sorted((self, other), key=str)
        return Size({((name, *pair),): 1})

    def value(self, dimensions):
        """With numbers for the dimensions."""
        return sum(c * _product(atoms, dimensions) for atoms, c in self.terms.items())

    def dimensions(self):
        """The names in it."""
        found = set()
        for atoms in self.terms:
            for a in atoms:
                found |= {a} if isinstance(a, str) else a[1].dimensions() | a[2].dimensions()
        return found

    def text(self, name=lambda n: n, call=lambda f, a, b: f"{f}({a},{b})"):
        """As C and the graph generator read it."""
        parts = []
        for atoms, c in sorted(self.terms.items(), key=lambda t: (-len(t[0]), str(t[0]))):
            factors = [name(a) if isinstance(a, str) else call(a[0], a[1].text(name, call), a[2].text(name, call)) for a in atoms]
            if abs(c) != 1 or not factors:
                factors.insert(0, str(abs(c)))
            parts.append(("-" if c < 0 else "+" if parts else "") + "*".join(factors))
        return "".join(parts) or "0"

    def calls(self, name, call):
        """As nested calls of add, mul, div, max and min, in the order in which text() computes."""
        total = None
        for atoms, c in sorted(self.terms.items(), key=lambda t: (-len(t[0]), str(t[0]))):
            term = None if c == 1 and atoms else str(c)
            for a in atoms:
                factor = name(a) if isinstance(a, str) else call(a[0], a[1].calls(name, call), a[2].calls(name, call))
                term = factor if term is None else call("mul", term, factor)
            total = term if total is None else call("add", total, term)
        return total or "0"

    def __str__(self):
        return self.text()

    def __repr__(self):
        return str(self)


def _order(atom):
    return atom if isinstance(atom, str) else str(atom)


def _product(atoms, dimensions):
    result = 1
    for a in atoms:
        if isinstance(a, str):
            result *= dimensions[a]
        else:
            x, y = a[1].value(dimensions), a[2].value(dimensions)
            result *= x // y if a[0] == "div" else max(x, y) if a[0] == "max" else min(x, y)
    return result


def product(sizes):
    return functools.reduce(lambda a, b: a * b, sizes, Size.of(1))

"""Einsum: products of two operands at a time, with operands and result put in order.

A letter that no operand behind and not the result has is summed as soon as two operands are multiplied.
"""

import string

from lowering.builder import op, own_part
from sizes import product


@op("Einsum")
def einsum(b, c):
    equation = c.get("equation").replace(" ", "")
    operands = [v for v in c.inputs if v is not None]
    terms, result = terms_of(c, equation, [v.rank for v in operands])
    for term in (*terms, result):
        if len(set(term)) != len(term):
            c.fail(f"Einsum {equation[:80]} is not supported: an index stands twice in a term")
    if not set(result) <= set("".join(terms)):
        c.fail(f"equation: {equation[:80]} has an index in its result that no operand has")
    sizes = {}
    for i, (term, value) in enumerate(zip(terms, operands)):
        # Of what an ellipsis stands for, a dimension of 1 goes with any.
        ones = [d for d, letter in enumerate(term) if letter not in equation and value.shape[d] == 1 and
                any(letter in t and v.shape[t.index(letter)] != 1 for t, v in zip(terms, operands))]
        operands[i] = b.reshape(value, [s for d, s in enumerate(value.shape) if d not in ones])
        terms[i] = "".join(letter for d, letter in enumerate(term) if d not in ones)
        for letter, s in zip(terms[i], operands[i].shape):
            if not b.same(sizes.setdefault(letter, s), s, c.place):
                c.fail(f"Einsum {equation[:80]}: {letter} has two sizes")
    term, value = terms[0], operands[0]
    for i in range(1, len(operands)):
        if i > 1:
            own_part(b, c, f"operand {i + 1}")
        wanted = set("".join([result, *terms[i + 1:]]))
        term, value = multiplied(b, sizes, (term, value), (terms[i], operands[i]), wanted)
    term, value = summed(b, term, value, set(result))
    return b.transpose(value, [term.index(letter) for letter in result])


def terms_of(c, equation, ranks):
    """The letters of each operand and of the result, with letters of their own for what an ellipsis stands for."""
    left, arrow, result = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        c.fail(f"equation: {equation[:80]} has {len(terms)} terms for {len(ranks)} operands")
    rest = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks)]
    if any(n < 0 or n > 0 and "..." not in term for n, term in zip(rest, terms)) or any(t.count("...") > 1 for t in (*terms, result)):
        c.fail(f"equation: {equation[:80]} does not go with arrays of {', '.join(map(str, ranks))} dimensions")
    free = [letter for letter in string.ascii_letters if letter not in equation]
    longest = max((n for n, term in zip(rest, terms) if "..." in term), default=0)
    if longest > len(free):
        c.fail(f"equation: {equation[:80]} has too many indices")
    around = "".join(free[:longest])
    if not arrow:
        letters = left.replace("...", "").replace(",", "")
        result = ("..." if "..." in left else "") + "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    named = [term.replace("...", around[len(around) - n:]) for term, n in zip(terms, rest)]
    result = result.replace("...", around)
    if any(not letter.isascii() or not letter.isalpha() for letter in "".join([*named, result])):
        c.fail(f"equation: {equation[:80]} has an index that is no letter")
    return named, result


def summed(b, term, value, wanted):
    """Without the letters that nobody wants."""
    gone = [d for d, letter in enumerate(term) if letter not in wanted]
    return "".join(letter for letter in term if letter in wanted), b.reduce("sum", value, gone, False)


def multiplied(b, sizes, left, right, wanted):
    """The letters and the value of the product of two operands; letters of both that nobody wants are summed by it."""
    first, x = summed(b, *left, wanted | set(right[0]))
    second, y = summed(b, *right, wanted | set(first))
    batch = [i for i in first if i in second and i in wanted]
    depth = [i for i in first if i in second and i not in wanted]
    rows, columns = [i for i in first if i not in second], [i for i in second if i not in first]

    def count(letters):
        return product([sizes[i] for i in letters])

    def ordered(value, term, parts):
        value = b.transpose(value, [term.index(i) for part in parts for i in part])
        return b.reshape(value, [*[sizes[i] for i in parts[0]], *[count(part) for part in parts[1:]]])
    z = b.add("matmul", [ordered(x, first, [batch, rows, depth]), ordered(y, second, [batch, depth, columns])],
              [*[sizes[i] for i in batch], count(rows), count(columns)], x.type)
    letters = batch + rows + columns
    return "".join(letters), b.reshape(z, [sizes[i] for i in letters])

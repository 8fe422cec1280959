"""Groups that an op of ours computes.

What does not match stays with the graph generator, and computes the same.
"""

import attention
import conv_int8
import gemm
import gemm_int8
import storage
from graph import ModelError
from groups import Group


def begin(graph, groups, target):
    """The groups of nodes with those of attention put together, and why what looks like one is none."""
    found, failed = attention.find(graph, groups, target)
    taken = {n: m for m in found for n in m.nodes}
    made = [g for g in groups if not any(n in taken for n in g.nodes)]
    for m in found:
        made.append(of_match(m, Group(m.nodes)))
    return made, failed


def of_match(match, group):
    group.nodes, group.match, group.call = match.nodes, match, match.call
    return group


def attend_all(graph, units, groups, target):
    """Groups of a file with several products are attention."""
    for group in groups:
        products = [n for n in group.nodes if n.reduces and n.op != "reduce"]
        if group.call is None and len(products) > 1 and len(group.results) == 1:
            attend(graph, units, group, target)


def match(graph, units, groups, target, half=""):
    """Gives calls to groups, and returns the groups. `units`: groups of what cannot be parted; `half`: --type. Raises ModelError where a file
    wants what is not."""
    packed = {}
    attend_all(graph, units, groups, target)
    storage.choose(graph, groups, half)
    for group in list(groups):
        products = [n for n in group.nodes if n.reduces and n.op != "reduce"]
        if group.call is None and not group.schedule and group.wanted != "graph" and len(products) == 1:
            if products[0].op == "conv":
                if not target.on_gpu:
                    convolve(groups, group, packed)
                continue
            found = gemm.of_group(group) or (gemm_int8.of_group(group) if not target.on_gpu else None)
            group.call = found.call(group.output, packed, target, group.settings, graph.half) if found is not None else None
            groups[groups.index(group):groups.index(group)] = packed.pop("groups", [])
    by_node = {n: g for g in groups for n in g.nodes}
    asked = [g for g in groups if len(g.results) > 1]
    for group in asked:
        groups[groups.index(group)] = joined(graph, group, by_node, packed, target)
    if all(not g.at for g in groups):
        groups = join(graph, groups, by_node, packed, target)
    for group in groups:
        if group.match is not None and group.output.stored != "float32":
            attention.in_halves(group.call, group.output.stored, target, {d: r[0] for d, r in graph.dimensions.items()})
        if group.wanted not in ("", "graph", group.call.op if group.call else ""):
            raise ModelError(f'{group.at}: op "{group.wanted}" is not what computes these nodes; '
                             f'{group.call.op if group.call else "graph"} does')
    return groups


def convolve(groups, group, packed):
    """A convolution of 8 bits, without what follows where the op has no such epilogue: that is a group of its own then, but for those of a file."""
    found = conv_int8.of_group(group)
    if found is None and not group.at and (parts := conv_int8.prefix_of(group)) is not None:
        first, rest = parts
        rest.why, first.why = group.why, "the op has no epilogue as what follows"
        groups[groups.index(group):groups.index(group) + 1] = parts
        group, found = first, conv_int8.of_group(first)
    if found is not None:
        group.call = found.call(group.output, packed, group.settings)


def attend(graph, units, group, target):
    """The nodes of a group of a file as attention. Raises ModelError."""
    found, failed = attention.find(graph, units, target, set(group.nodes)) if group.wanted in ("", "attention") and not group.schedule else ([], {})
    if not found or set(found[0].nodes) != set(group.nodes) or found[0].nodes[-1].output is not group.output:
        why = next(iter(failed.values()), "")
        left = [n for n in group.nodes if found and n not in found[0].nodes]
        if not why and left:
            why = f"{graph.places[left[0].origin]} is no part of it"
        left_apart = '; variant = "unfused" has attention store its scores' if group.wanted == "graph" else ""
        raise ModelError(f"{group.at} has several products or windows; a group has one" +
                         (f", or is attention, and this is none: {why}" if why else left_apart))
    of_match(found[0], group)


def reader_of(graph, part, by_node):
    """The group of attention that alone reads the result of a group as an operand, or None."""
    if part.output in graph.outputs:
        return None
    readers = {by_node[c] for c in graph.consumers().get(part.output, [])}
    reader = next(iter(readers)) if len(readers) == 1 else None
    return reader if reader is not None and reader.match is not None and part.output in reader.match.bases() else None


def joined(graph, group, by_node, packed, target):
    """A group of a file with several results: products of one array. Raises ModelError."""
    parts = gemm.parts_of(group) or [group]
    readers = {reader_of(graph, p, by_node) for p in parts}
    made = None
    if len(parts) > 1 and len(readers) == 1 and None not in readers and group.wanted in ("", "gemm") and not group.schedule:
        reader = readers.pop()
        try:
            made = gemm.join(parts, reader, packed, target, graph.half, group.name, group.settings)
        except attention.Mismatch:
            made = None
    if made is None:
        names = ", ".join(graph.places[v.node.origin] for v in group.results[:4])
        raise ModelError(f"{group.at} has {len(group.results)} results; a group has one, but for products of one array that one attention alone reads. They are of {names}")
    result, reader.call = made
    count(graph, result)
    result.at, result.wanted, result.why, result.variant = group.at, group.wanted, group.why, group.variant
    return result


def count(graph, group):
    """The elements of joined results have to be counted in 32 bits."""
    if group.joined.elements.number is None:
        graph.bounded[group.joined.elements] = None


def join(graph, groups, by_node, packed, target):
    """Products of one array that one attention reads become one product."""
    candidates = {}
    for g in groups:
        if g.call is not None and g.call.op == "gemm" and (reader := reader_of(graph, g, by_node)) is not None:
            candidates.setdefault((g.call.arguments[0].base, reader), []).append(g)
    gone, first = set(), {}
    for (_, reader), parts in candidates.items():
        try:
            made = gemm.join(parts, reader, packed, target, graph.half)
        except attention.Mismatch:
            continue
        if made is not None:
            first[parts[0]], reader.call = made
            gone.update(parts[1:])
            count(graph, first[parts[0]])
    return [first.get(g, g) for g in groups if g not in gone]

"""Reads an ONNX model and writes what `halyard compile` builds: started by the command, with a request on standard input.

{"model": path, "name": name, "dims": {name: [least, most]}, "schedule": path or "", "targets": of Halide, "out": folder,
 "type": "", "bfloat16" or "float16", "edits": moves of a search, "open": {op: {variant: {parameter: values}}}, "folder": where schedules of groups are}

The folder gets NAME.h, NAME.c, NAME.lua, NAME.weights, report.json, and of each kernel a graph KEY.json and a schedule KEY.lua;
plan.json names them. Where `open` says what schedules of ops leave open, moves.json has what may be changed (moves.py).
"""

import hashlib
import json
import os
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

try:
    import numpy  # noqa: F401
    import onnx  # noqa: F401
except ImportError as e:
    sys.exit(f"error: {e.name} is missing for this Python ({sys.executable}): pip install onnx, or name another Python by HALYARD_PYTHON")

import branches  # noqa: E402
import groups as grouping  # noqa: E402
import groups_lua  # noqa: E402
import integers  # noqa: E402
import kernels  # noqa: E402
import match  # noqa: E402
import memory  # noqa: E402
import moves  # noqa: E402
import read  # noqa: E402
import runner  # noqa: E402
import schedule  # noqa: E402
import storage  # noqa: E402
from graph import ModelError  # noqa: E402
from sizes import Size  # noqa: E402
from targets import Target  # noqa: E402

ALIGNMENT = 64
TAKE = ("slice", "gather", "gather_nd", "gather_elements")


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)


def digest_of(graph, units):
    """Of the nodes and how they hang together, not of the weights."""
    made = hashlib.sha256()
    number = {}
    for v in graph.inputs:
        number[v] = len(number)
        made.update(f"{v.type}{v.shape}".encode())
    for n in graph.nodes:
        for v in n.inputs:
            number.setdefault(v, len(number))
        number[n.output] = len(number)
        made.update(f"{n.op}{[number[v] for v in n.inputs]}{n.output.type}{n.output.shape}{sorted(n.attributes.items())}".encode())
    for u in units:
        made.update(u.encode())
    return made.hexdigest()[:16]


def compile_model(request):
    name, out, target = request["name"], request["out"], Target(request["targets"])
    graph = read.read(request["model"], name, {d: tuple(r) for d, r in request["dims"].items()}, target)
    units = groups_lua.units_of(graph, first := grouping.of_origins(graph))
    digest = digest_of(graph, units)
    if integers.rewrite(graph, target):  # the same units, of other nodes
        units = groups_lua.units_of(graph, first := grouping.of_origins(graph))
    if request["schedule"]:
        groups = groups_lua.read(request["schedule"], graph, units, digest)
        if request.get("edits"):
            groups = moves.apply(graph, units, groups, request["edits"])
    else:
        begun, failed = match.begin(graph, first, target)
        groups = grouping.fuse(graph, begun)
        for g in groups:
            g.why += "".join(f"; no attention: {why}" for n, why in failed.items() if n in g.nodes)
    groups = match.match(graph, first, groups, target, request.get("type", ""))
    if not request["schedule"]:
        grouping.name(graph, groups)
    file = os.path.basename(request["model"])
    write(out, f"{name}.lua", groups_lua.write(graph, groups, units, digest, file))

    outputs = set(graph.outputs)
    aliases = {g.output: g.nodes[0].inputs[0] for g in groups if g.is_alias}
    aliases.update({v: g.joined for g in groups if g.joined for v in g.results})
    roots = {}
    for value in graph.outputs:  # one memory cannot be two outputs, nor an input's
        root = value
        while root in aliases:
            root = aliases[root]
        if root is not value and (root.node is None or root in outputs or root in roots.values()):
            aliases.pop(value)
        roots[value] = root
    steps = [g for g in groups if g.output not in aliases]
    built = {g: kernels.of_group(g, target, graph.has_integers) for g in steps}
    steps = wanted(graph, steps, built, aliases)
    built = {g: built[g] for g in steps}
    read_by_steps = [v for g in steps for v in built[g].inputs]
    weights = list(dict.fromkeys(v for v in [*read_by_steps, *aliases.values()] if v.constant is not None))

    base = request.get("folder") or (os.path.dirname(os.path.abspath(request["schedule"])) if request["schedule"] else "")
    unique = {}
    for k in built.values():
        k.function = f"{name}_{k.key}"
        if k.group.variant and not k.group.call:
            raise ModelError(f'{k.group.at}: variant "{k.group.variant}" is of an op of Halyard, and the general generator computes this group')
        if not k.group.call and not k.group.schedule:
            opened = schedule.opened_in(k.schedule)
            for setting in (s for s in k.group.settings if s not in opened):
                raise ModelError(f'{k.group.at}: set names {setting}; the schedule of this group leaves open {", ".join(opened) or "nothing"}')
        if k.group.schedule:
            if k.group.call:
                raise ModelError(f'{k.group.at}: a schedule is for op = "graph"')
            with open(groups_lua.schedule_of(k.group, base), "rb") as f:
                k.key = hashlib.sha256(k.key.encode() + f.read()).hexdigest()[:16]
            k.function = f"{name}_{k.key}"
        if k.key in unique:
            continue
        unique[k.key] = k
        if k.form:
            write(out, f"{k.key}.json", json.dumps(k.form))
            write(out, f"{k.key}.lua", k.schedule)
    offsets, length, magic = write_weights(os.path.join(out, f"{name}.weights"), weights, digest)
    sections = [[[s]] for s in steps] if target.on_gpu else branches.sections_of(steps, built, memory.root_of(aliases))
    plan = memory.Memory(graph, sections, built, aliases, weights)
    made = runner.Runner(graph, sections, built, plan, weights, offsets, length, magic, file, target)
    write(out, f"{name}.h", made.header())
    write(out, f"{name}.c", made.source())
    write(out, "report.json", json.dumps(report(graph, groups, sections, built, plan, length, digest, file, made), indent=1))
    if request.get("open"):
        write(out, "moves.json", json.dumps(moves.of_groups(graph, units, groups, built, request["open"])))
    write(out, "plan.json", json.dumps({
        "kernels": [{"function": k.function, "graph": f"{key}.json" if k.form else "", "group": k.group.name,
                     "op": k.group.call.op if k.group.call else "graph", "variant": k.group.call.variant if k.group.call else "", "params": k.group.call.params if k.group.call else {},
                     "set": k.group.call.settings if k.group.call else k.group.settings,
                     "schedule": "" if k.group.call else os.path.join(base, k.group.schedule) if k.group.schedule else f"{key}.lua"}
                    for key, k in unique.items()]}))


def wanted(graph, steps, built, aliases):
    """Without moves that nobody reads: attention reads through them."""
    needed, kept = set(graph.outputs), []
    for g in reversed(steps):
        outputs = {g.output, *g.results}
        for value in list(needed):
            while value in aliases:
                value = aliases[value]
                needed.add(value)
        if not needed.isdisjoint(outputs):
            kept.insert(0, g)
            needed.update(built[g].inputs)
    return kept


def write_weights(path, weights, digest):
    """The constants one after the other, behind a head that says of which model they are."""
    contents = hashlib.sha256(digest.encode())
    offsets, at = [], ALIGNMENT
    arrays = [numpy.ascontiguousarray(storage.array_of(v)) for v in weights]
    for a in arrays:
        offsets.append(at)
        contents.update(a.tobytes())
        at = (at + a.nbytes + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    magic = "halyard weights 1 " + contents.hexdigest()[:32]
    with open(path, "wb") as f:
        f.write(magic.encode().ljust(ALIGNMENT, b"\0"))
        for a, offset in zip(arrays, offsets):
            f.seek(offset)
            f.write(a.tobytes())
        f.truncate(at)
    return offsets, at, magic


def saved(group):
    """Bytes that fusing keeps out of memory: a value between two nodes of the model would be written once, and read by each."""
    total = Size.of(0)
    for n in group.nodes[:-1]:
        readers = {m.origin for m in group.nodes if n.output in m.inputs and m.origin != n.origin}
        if readers:
            total = total + n.output.bytes * (1 + len(readers))
    return total


def read_of(group, value):
    """Bytes of a value that a group reads: where parts of it are taken, as rows of a table, not more than these."""
    taken = Size.of(0)
    for n in group.nodes:
        for i, v in enumerate(n.inputs):
            if v is value and (i > 0 or n.op not in TAKE):
                return value.bytes
            if v is value:
                taken = taken + n.output.bytes
    return value.bytes.smallest(taken)


def report(graph, groups, sections, built, plan, length, digest, file, made):
    inputs, outputs = made.arrays()

    maker = {v: i for i, g in enumerate(groups) for v in g.results}

    def array(value, name):
        return {"name": name, "type": value.type, "shape": [str(s) for s in value.shape]}
    return {
        "model": graph.name, "file": file, "graph": digest, "type": graph.half or "float32",
        "dimensions": [{"name": d, "least": r[0], "most": r[1]} for d, r in graph.dimensions.items()],  # in the order of NAME_sizes
        "inputs": [array(v, n) for v, n in inputs], "outputs": [array(v, n) for v, n in outputs],
        "conditions": [f"{a} == {b}" for a, b, _ in graph.conditions] + [f"{a} >= {b}" for a, b, _ in graph.least],
        "calls": len(built), "branches": [[[s.name for s in b] for b in section] for section in sections if len(section) > 1], "kernels": len({k.key for k in built.values()}), "weights_bytes": length,
        "workspace": [[str(s) for s in slot] for slot in plan.slots],
        "groups": [{"name": g.name, "nodes": [graph.places[o] for o in dict.fromkeys(n.origin for n in g.nodes) if o in graph.places], "why": g.why,
                    "kernel": built[g].function if g in built else "", "reads": [str(read_of(g, v)) for v in g.inputs],
                    "after": [maker[v] for v in g.inputs if v in maker], "kind": g.call.op if g.call else grouping.kind_of(g),
                    "variant": g.call.variant if g.call else "", "set": g.call.settings if g.call else g.settings,
                    "saved": str(saved(g)), "writes": str(g.output.bytes), "operations": str(grouping.flops(g)),
                    "shape": [str(s) for s in g.output.shape]} for g in groups]}


def main():
    request = json.load(sys.stdin)
    try:
        compile_model(request)
    except ModelError as e:
        sys.exit(str(e))
    except MemoryError:
        sys.exit(f"{request['model']}: error: there is no memory for the arrays of the model")
    except Exception as e:  # of the onnx package, of numpy, or what nobody thought of here
        at = [f"{os.path.basename(f.filename)}:{f.lineno}" for f in traceback.extract_tb(e.__traceback__)]
        sys.exit(f"{request['model']}: error: the model cannot be read: {type(e).__name__}: {read.first_line(e)} (at {' '.join(at[-3:])})")


if __name__ == "__main__":
    main()

"""What may be changed of the groups of a model, for a search (`halyard explore MODEL.onnx`), which measures what comes of it.

A move is data: what it changes, the groups that it is about, and those that come of them, whose times tell whether it pays. Groups that
share a kernel are changed together.

  set      a number that the schedule leaves open
  variant  another schedule of the op
  op       the general generator in place of the op, or back
  join     a group with the one that alone reads it
  split    what some of the nodes compute goes to memory
"""

import hashlib

import schedule
from groups import Fusing, Group
from groups_lua import arranged

MOST_SPLITS = 4  # of a group
NEIGHBOURS = 2   # of a value, each way
FACTS = ("head_dim",)  # what schedules of ops are told of the model


class Moves:
    def __init__(self, graph, units, groups, built, opened):
        self.graph, self.groups, self.built, self.opened = graph, groups, built, opened
        self.unit_of = {n: u for u, nodes in units.items() for n in nodes}
        self.units = units
        self.fusing = Fusing(graph, [g for g in groups if not g.is_added])
        self.found = []

    def add(self, kind, old, new, saves="0", **what):
        """`old` and `new` are names of groups, those of one kernel beside those of the same."""
        made = hashlib.sha256(f"{kind} {sorted(what.items())} {old} {[self.key(g) for g in old]}".encode()).hexdigest()[:16]
        self.found.append({"kind": kind, "id": made, "old": [n for o in old for n in o], "new": [n for o in new for n in o], "saves": saves, **what})

    def key(self, names):
        return [self.built[g].key if g in self.built else "" for g in self.groups if g.name in names]

    def classes(self):
        found = {}
        for g in self.groups:
            if g in self.built and not g.is_added and not g.schedule:
                found.setdefault(self.built[g].key, []).append(g)
        return found.values()

    def run(self):
        for same in self.classes():
            self.numbers(same)
            if same[0].call is not None or same[0].wanted == "graph":
                self.ops(same)
            self.splits(same)
        self.joins()
        return self.found

    def numbers(self, same):
        first = same[0]
        names = [[g.name] for g in same]
        if first.call is None:
            opened, own, variant = schedule.opened_in(self.built[first].schedule), first.settings, ""
        else:
            opened = self.opened.get(first.call.op, {}).get(first.call.variant, {})
            own, variant = {**first.call.params, **first.call.settings}, first.call.variant
        for name, (default, *values) in opened.items():
            if name in FACTS:
                continue
            values = [v for v in values if v != "0" or default == "0"]
            now = own.get(name, default)
            at = values.index(now) if now in values else 0
            for v in values[max(at - NEIGHBOURS, 0):at] + values[at + 1:at + 1 + NEIGHBOURS]:
                self.add("set", names, names, name=name, value=v, was=now, variant=variant)

    def ops(self, same):
        first, names = same[0], [[g.name] for g in same]
        if first.call is None:
            self.add("op", names, names, op="")
            return
        if len(first.results) == 1 and first.match is None:
            self.add("op", names, names, op="graph")
        for variant in self.opened.get(first.call.op, {}):
            if variant != first.call.variant and not first.settings:
                self.add("variant", names, names, variant=variant or first.call.op)

    def splits(self, same):
        """At most a few, those behind and before a reduction first."""
        if same[0].call is not None:
            return
        cuts = {}
        for g in same:
            for place, (part, output) in enumerate(self.cuts_of(g)[:MOST_SPLITS]):
                cuts.setdefault(place, []).append((g, part, output))
        for of_place in cuts.values():
            if len(of_place) == len(same):
                old = [[g.name] for g, _, _ in of_place]
                new = [[self.fresh(g.name), g.name] for g, _, _ in of_place]
                self.add("split", old, new, parts=[part for _, part, _ in of_place])

    def fresh(self, name):
        made, taken = name + "a", {g.name for g in self.groups}
        while made in taken:
            made += "a"
        return made[:100]

    def cuts_of(self, group):
        """(units of a part that has one result and is not all, that result)"""
        members = set(group.nodes)
        readers = self.fusing.consumers
        found = []
        for unit in dict.fromkeys(self.unit_of[n] for n in group.nodes):
            if group.nodes[-1] in self.units[unit]:
                continue
            part, wanted = set(), list(self.units[unit])
            while wanted:
                n = wanted.pop()
                if n not in part:
                    part.update(self.units[self.unit_of[n]])
                    wanted += [v.node for m in self.units[self.unit_of[n]] for v in m.inputs if v.node in members and v.node not in part]
            results = [n for n in part if any(c not in part for c in readers.get(n.output, []))]
            if len(results) == 1 and len(part) < len(members) and results[0].op not in ("sizes", "constant") and \
                    results[0].output.elements.number != 1:
                reduces = any(n.reduces for n in self.units[unit])
                feeds = any(c.reduces for c in readers[results[0].output])
                found.append((0 if reduces or feeds else 1, list(dict.fromkeys(self.unit_of[n] for n in group.nodes if n in part)), results[0].output))
        return [(part, output) for _, part, output in sorted(found, key=lambda f: f[0])]

    def joins(self):
        pairs = {}
        for g in self.groups:
            other = self.reader(g)
            if other is not None and self.may_join(g, other):
                pairs.setdefault((self.built[g].key, self.built[other].key), []).append((g, other))
        for of_pair in pairs.values():
            taken, once = set(), []
            for g, other in of_pair:
                if g not in taken and other not in taken:
                    once.append((g, other))
                    taken.update((g, other))
            self.add("join", [[g.name, o.name] for g, o in once], [[o.name] for _, o in once], saves=str(once[0][0].output.bytes * 2 * len(once)))

    def reader(self, group):
        """The group that alone reads its one result."""
        if group.is_added or group not in self.built or len(group.results) > 1 or group.output in self.graph.outputs or group.schedule:
            return None
        readers = {self.fusing.group_of.get(n) for n in self.fusing.consumers.get(group.output, [])}
        return readers.pop() if len(readers) == 1 else None

    def may_join(self, group, other):
        if other not in self.built or other.is_added or other.schedule or len(other.results) > 1 or group.match is not None or other.match is not None:
            return False
        if group.call is not None and group.call.op != "gemm" or other.call is not None and other.call.op != "gemm":
            return False
        products = [n for g in (group, other) for n in g.nodes if n.reduces and n.op != "reduce"]
        if len(products) > 1 or len(group.nodes) + len(other.nodes) > 64:
            return False
        # A reduction that each element of another asks for anew.
        first = self.fusing.consumers[group.output]
        return not (group.reduces and any(n.op in ("matmul", "conv", "conv_transpose", "pool") for n in first))


def of_groups(graph, units, groups, built, opened):
    return Moves(graph, units, groups, built, opened).run()


def apply(graph, units, groups, edits):
    """Groups of a file with moves of a search made."""
    by_name = {g.name: g for g in groups}
    for e in edits:
        if e["kind"] == "join":
            for first, second in zip(e["old"][::2], e["old"][1::2]):
                gone, group = by_name.pop(first), by_name[second]
                group.nodes += gone.nodes
                begin_anew(group)
                groups.remove(gone)
        elif e["kind"] == "split":
            for (name, _), old, part in zip(zip(e["new"][::2], e["new"][1::2]), e["old"], e["parts"]):
                group = by_name[old]
                nodes = [n for unit in part for n in units[unit]]
                taken = set(nodes)
                group.nodes = [n for n in group.nodes if n not in taken]
                begin_anew(group)
                made = Group(nodes, name)
                made.at, made.why = group.at, "apart it is quicker, by measurement"
                by_name[name] = made
                groups.append(made)
        else:
            for name in e["old"]:
                group = by_name[name]
                if e["kind"] == "set":
                    group.settings[e["name"]], group.variant = e["value"], e["variant"]
                elif e["kind"] == "variant":
                    group.variant, group.settings = e["variant"], {}
                else:
                    group.wanted, group.variant, group.settings = e["op"], "", {}
    for g in groups:
        g.several = []
    return arranged(graph, groups)


def begin_anew(group):
    """What was said of its nodes holds no more."""
    group.wanted, group.variant, group.settings = "", "", {}

"""Where arrays lie in a call: in the caller's buffers, in the weights, or in slots of one workspace.

Slots are chosen once, for all sizes: an array takes a slot that is free by then, the one whose size fits best as an expression. A
slot is as large as the largest of its arrays in a call.
"""

from sizes import Size

ALIGNMENT = 64


class Place:
    """`kind` is input, output, weight or slot; `index` which."""

    def __init__(self, kind, index):
        self.kind, self.index = kind, index


class Memory:
    def __init__(self, graph, sections, kernels, aliases, weights):
        """`sections`: groups in the order of their calls, with their kernels (branches.py). `aliases`: {value: value that it is the same
        memory as}. What a branch frees is for itself alone until all branches of its section are through."""
        self.root = root_of(aliases)
        self.places = {}
        self.slots = []  # of each: its Sizes in bytes
        for i, v in enumerate(graph.inputs):
            self.places[v] = Place("input", i)
        for i, v in enumerate(weights):
            self.places[v] = Place("weight", i)
        for i, v in enumerate(graph.outputs):
            self.places[self.root(v)] = Place("output", i)
        last = {}  # the section, and the branch of it where there is one alone, in which a value is read for the last time
        for i, section in enumerate(sections):
            for branch in section:
                for step in branch:
                    for v in map(self.root, kernels[step].inputs):
                        last[v] = (i, None if last.get(v, (i - 1,))[0] == i and last[v][1] is not branch else branch)
        free = []
        for i, section in enumerate(sections):
            after = []  # is free when all branches are through
            for branch in section:
                own, made = free if len(section) == 1 else [], set()  # what this branch may use again
                for at, step in enumerate(branch):
                    value = step.output
                    if self.root(value) is value and value not in self.places:
                        self.places[value] = Place("slot", self.take(own if own else free, value.bytes))
                        made.add(value)
                    later = {self.root(v) for s in branch[at + 1:] for v in kernels[s].inputs}
                    for v in dict.fromkeys(map(self.root, [*kernels[step].inputs, value])):
                        place = self.places.get(v)
                        if place is None or place.kind != "slot" or v in later or last.get(v, (i, branch))[0] != i:
                            continue
                        if len(section) == 1 or v in made and last.get(v, (i, branch))[1] is branch:
                            own.append(place.index)
                        else:
                            after.append(place.index)
                if own is not free:
                    after += own
            free += dict.fromkeys(after)
        self.scratch = None  # the slot, the last one, of what kernels store for themselves, one after the other
        wanted = {}
        for step in (s for section in sections for branch in section for s in branch):
            wanted.setdefault(kernels[step].scratch)
        wanted = [s for s in wanted if s != 0]
        if wanted:
            self.scratch = len(self.slots)
            self.slots.append([s for s in wanted if not any(dominates(o, s) for o in wanted if o is not s)] or wanted)


    def of(self, value):
        return self.places[self.root(value)]

    def take(self, free, size):
        best = min(free, key=lambda i: self.misfit(i, size), default=None)
        if best is None:
            self.slots.append([size])
            return len(self.slots) - 1
        free.remove(best)
        if size not in self.slots[best]:
            self.slots[best] = [s for s in self.slots[best] if not dominates(size, s)]
            if not any(dominates(s, size) for s in self.slots[best]):
                self.slots[best].append(size)
        return best

    def misfit(self, slot, size):
        """0: as large; 1: larger anyway, by how much; 2: to be made larger; 3: nobody knows."""
        sizes = self.slots[slot]
        if size in sizes:
            return (0, 0)
        typical = {d: 64 for s in [*sizes, size] for d in s.dimensions()}
        has, wants = max(s.value(typical) for s in sizes), size.value(typical)
        if any(dominates(s, size) for s in sizes):
            return (1, has - wants)
        return (2 if any(dominates(size, s) for s in sizes) else 3, abs(wants - has))


def root_of(aliases):
    """The function that gives the array in whose memory a value lies."""
    def root(value):
        while value in aliases:
            value = aliases[value]
        return value
    return root


def dominates(a, b):
    """Whether a >= b for all dimensions of 1 or more, as far as the coefficients tell."""
    terms = (Size.of(a) - b).terms
    return all(c > 0 for c in terms.values()) or (terms.keys() and sum(terms.values()) >= 0 and
                                                 all(c > 0 for t, c in terms.items() if t) and all(isinstance(x, str) for t in terms for x in t))

"""Which calls of a model may run beside each other, on threads of their own.

A kernel of a small array does not fill the threads of a processor, and each parallel loop costs a wait. Where several calls, or chains of
them, need nothing of each other, they are the branches of a section. What takes how long is estimated in a call, by its sizes and the
threads that there are: either the branches run one after the other, each kernel on all threads, or the small ones beside each other.
"""

from graph import BYTES
from groups import HEAVY

MOST_STEPS = 8      # of a branch
MOST_BRANCHES = 16  # of a section
AHEAD = 24          # how far behind the next call a branch may begin: what waits for its reader needs memory
PRODUCTS = 200      # operations of a thread in a nanosecond, about
MEMORY = 20         # bytes
MAPS = 6            # results of a function as exp
SHARE = 5000        # nanoseconds that a task of a parallel loop takes at least
WAIT = 1500         # nanoseconds that threads wait at the end of one


def sections_of(steps, kernels, root):
    """Steps in the order of their calls, as lists of branches; most have one branch with one step. `root`: the array that a value lies in."""
    maker = {root(s.output): s for s in steps}
    needs = {s: {maker[v] for v in map(root, kernels[s].inputs) if v in maker and maker[v] is not s} for s in steps}
    left, done, made = list(steps), set(), []
    while left:
        first = [s for s in left[:AHEAD] if needs[s] <= done][:MOST_BRANCHES]
        branches = [branch_from(s, left, needs, done) for s in first] if len(first) > 1 else []
        if not is_worthwhile([[cost_of(s, kernels[s]) for s in b] for b in branches]):
            branches = [[left[0]]]
        made.append(branches)
        taken = {s for b in branches for s in b}
        done |= taken
        left = [s for s in left if s not in taken]
    return made


def branch_from(first, left, needs, done):
    """A step and what needs nothing but it and what is done."""
    branch, members = [first], {first}
    for s in left:
        if len(branch) == MOST_STEPS:
            break
        if s is not first and needs[s] <= done | members and not needs[s] <= done:
            branch.append(s)
            members.add(s)
    return branch


class Cost:
    """Nanoseconds of one thread: a sum of numbers times Sizes."""

    def __init__(self):
        self.terms = {}

    def add(self, factor, *sizes):
        for s in sizes:
            factor = factor * s.number if s.number is not None else factor
        key = tuple(s for s in sizes if s.number is None)
        self.terms[key] = self.terms.get(key, 0) + factor

    def value(self, dimensions):
        total = 0
        for sizes, factor in self.terms.items():
            for s in sizes:
                factor *= s.value(dimensions)
            total += factor
        return total

    def text(self, c):
        """In C, as a double; `c` makes the text of a Size."""
        return " + ".join(" * ".join([f"{factor:.6g}", *(f"(double)({c(s)})" for s in sizes)]) for sizes, factor in self.terms.items())


def cost_of(step, kernel):
    cost = Cost()
    for n in step.nodes:
        if n.op == "matmul":
            cost.add(2 / PRODUCTS, n.output.elements, n.inputs[0].shape[-1])
        elif n.op in ("conv", "conv_transpose"):
            taps = 1
            for k in n.attributes["kernel"]:
                taps *= k
            cost.add(2 * taps / n.attributes["groups"] / PRODUCTS, n.output.elements, n.inputs[0].shape[-1 if n.attributes.get("last") else 1])
        elif n.is_map and n.attributes["fn"] in HEAVY:
            cost.add(1 / MAPS, n.output.elements)
    # Of a table few rows are read.
    read = [] if any(n.op.startswith("gather") for n in step.nodes) else kernel.inputs
    for v in [*read, step.output]:
        cost.add(BYTES[v.stored] / MEMORY, v.elements)
    return cost


def is_worthwhile(branches):
    """Whether there are sizes and numbers of threads for which some branches are better beside each other."""
    if len(branches) < 2:
        return False
    dimensions = {d for b in branches for c in b for sizes in c.terms for s in sizes for d in s.dimensions()}
    for typical in (1, 4, 16, 64, 256, 1024):
        times = [[c.value({d: typical for d in dimensions}) for c in b] for b in branches]
        for threads in (2, 4, 16, 64):
            if gain([sum(t) for t in times], [sum(spread(t, threads) for t in b) for b in times], threads):
                return True
    return False


def spread(alone, threads):
    """A kernel's time on all threads."""
    tasks = min(threads, int(alone / SHARE) + 1)
    return alone / tasks + (WAIT if tasks > 1 else 0)


def gain(alone, together, threads):
    """Whether two or more of the shortest branches take less time beside each other; the runner decides by the same rule (runner.py)."""
    order = sorted(range(len(alone)), key=lambda i: alone[i])
    total = after = 0
    for n, i in enumerate(order):
        total, after = total + alone[i], after + together[i]
        if n > 0 and max(alone[i], total / threads) + WAIT < 0.9 * after:
            return True
    return False

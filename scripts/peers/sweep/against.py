"""A run over the population beside a recorded one: what fell, by geometric mean and percentile.

Cases that both have are compared, each with itself: a change that helps one and hurts a hundred lowers the mean. The bounds
are what repeated runs of one build differ by; an op's bound is wider, as it has few cases.
"""

from .statistics import geometric_mean, percentile, ratios

MEAN, TENTH, OP = 0.98, 0.95, 0.92
FEWEST = 3      # cases by which an op is judged
COMMON = 0.5    # of the smaller run, for a comparison case by case


def fell(records, recorded, mean=MEAN, tenth=TENTH, op=OP):
    """Sentences about what is worse than recorded. Both are lists of records; no sentence: nothing is."""
    then = {r["key"]: r for r in recorded if r["ratio"]}
    now = {r["key"]: r for r in records if r["ratio"]}
    both = [k for k in now if k in then]
    if len(both) < COMMON * min(len(then), len(now)) or not both:  # other cases: the distributions
        return sentences("all cases (other ones than recorded)", ratios(records), ratios(recorded), mean, tenth)
    said = sentences(f"all {len(both)} cases", [now[k]["ratio"] for k in both], [then[k]["ratio"] for k in both], mean, tenth)
    for name in sorted({now[k]["op"] for k in both}):
        of = [k for k in both if now[k]["op"] == name]
        if len(of) >= FEWEST:
            said += sentences(f"{name}, {len(of)} cases", [now[k]["ratio"] for k in of], [then[k]["ratio"] for k in of], op, None)
    return said


def sentences(what, now, then, mean, tenth):
    said = []
    for name, of, bound in (("geometric mean", geometric_mean, mean), ("10th percentile", lambda x: percentile(x, 0.1), tenth)):
        if bound and now and then and of(now) < bound * of(then):
            said.append(f"{what}: the {name} is {of(now):.3f}, recorded {of(then):.3f}")
    return said


def newly_failed(run, recorded):
    """Cases that were timed then and fail now."""
    then = {r["key"] for r in recorded["records"]}
    return [f"{f['key']}: {f['message']}, which was timed before" for f in run.get("failed", []) if f["key"] in then]

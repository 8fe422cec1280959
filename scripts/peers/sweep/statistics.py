"""Numbers for many cases: means, percentiles, the worst. `records` are of one run, as a host's or a GPU's JSON has them."""

import math


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def percentile(values, share):
    """Between neighbours as the logarithm has it."""
    if not values:
        return None
    ordered = sorted(map(math.log, values))
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return math.exp(ordered[low] + (at - low) * (ordered[high] - ordered[low]))


def ratios(records):
    return [r["ratio"] for r in records if r["ratio"]]


def summary(records):
    of = ratios(records)
    return {"cases": len(records), "with_peer": len(of), "geometric_mean": geometric_mean(of), "tenth": percentile(of, 0.1),
            "least": min(of, default=None), "behind": sum(x < 1 for x in of), "roof": geometric_mean([r["roof_fraction"] for r in records])}


def by(field, records):
    """{value of a field, as the op: its summary}, by name."""
    return {value: summary([r for r in records if r[field] == value]) for value in sorted({r[field] for r in records})}


def worst(records, count=10):
    return sorted((r for r in records if r["ratio"]), key=lambda r: r["ratio"])[:count]

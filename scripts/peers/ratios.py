"""The recorded ratios, and who fell behind them.

ratios.json: {machine: {row: {"ratio": r, "low": ..., "peer": ..., "roof": ..., "roof_low": ...}}}. A ratio
is the best peer's time over ours; low is the lower quartile of the ratios that parts of one run gave.
A row has fallen behind when even the upper quartile of its ratios now is below that. Without peers the
fraction of the roof stands in for the ratio.
"""

import json
import os

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ratios.json")


def read(path):
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        return json.load(f)


def behind(recorded, record):
    """A sentence, or None. `recorded`: of this machine."""
    then = recorded.get(record["key"])
    if not then:
        return None
    if record["ratio"] is not None and then.get("ratio") is not None:
        now, low, high, what = record["ratio"], then["low"], record["ratio_quartiles"][1], f"of {record['peer']}"
        was = f"{then['ratio']:.2f} of {then['peer']}"
    else:
        now, low, high, what = record["roof_fraction"], then["roof_low"], record["roof_quartiles"][1], "of the roof"
        was = f"{then['roof']:.2f} of the roof"
    if max(now, high) >= low:
        return None
    return (f"{record['key']}: {now:.2f} {what}, recorded {was} "
            f"(noise down to {low:.2f}; now at most {max(now, high):.2f})")


def entry(record):
    fields = {"roof": record["roof_fraction"], "roof_low": min(record["roof_quartiles"][0], record["roof_fraction"])}
    if record["ratio"] is not None:
        low = min(record["ratio_quartiles"][0], record["ratio"])
        fields.update(ratio=record["ratio"], low=low, peer=record["peer"])
    return {k: round(v, 3) if isinstance(v, float) else v for k, v in fields.items()}


def store(path, records):
    all_ = read(path)
    for r in records:
        all_.setdefault(r["machine"], {})[r["key"]] = entry(r)
    with open(path + ".part", "w") as f:
        json.dump(all_, f, indent=0, sort_keys=True)
        f.write("\n")
    os.replace(path + ".part", path)

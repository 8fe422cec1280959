"""Records of searches as a table, and its place in docs/guide/explore.md."""

import math

BEGIN, END = "<!-- scripts/explore writes this table -->", "<!-- end of the table -->"


def ratio_to_ours(record):
    """How fast what was found is, where the schedule that ships is 1; None where none ships."""
    ours = [b for b in record["beside"] if not b["halide"] and "ratio" in b]
    return ours[0]["ratio"] if ours else None


def best_of_halide(record):
    theirs = [b for b in record["beside"] if b["halide"] and "ratio" in b]
    return min(theirs, key=lambda b: b["ratio"]) if theirs else None


def ratio_to_halide(record):
    best = best_of_halide(record)
    return best["ratio"] if best else None


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


def cells(r):
    ours, halide = ratio_to_ours(r), best_of_halide(r)
    params = "".join(f" {k}={v}" for k, v in sorted(r["params"].items()))
    return [r["op"], (r["shape"].replace(",", " ") or "its estimates") + params, str(r["tried"]), f"{r['seconds']:.0f} s",
            milliseconds(r["found"]["seconds"]), "" if ours is None else f"{ours:.2f}",
            "none is right" if halide is None else f"{halide['ratio']:.2f} ({halide['name'].split()[-1]})"]


HEAD = ["op", "at", "tried", "search", "found", "of ours", "of the best of Halide's"]


def line(record):
    return "  ".join(f"{h} {c}" if h in ("tried", "of ours", HEAD[-1]) else c
                     for h, c in zip(HEAD, cells(record)) if c)


def table(records):
    lines = ["| " + " | ".join(HEAD) + " |", "| " + " | ".join("---" for _ in HEAD) + " |"]
    lines += ["| " + " | ".join(cells(r)) + " |" for r in records]
    for name, ratio in (("ours", ratio_to_ours), ("the best of Halide's", ratio_to_halide)):
        known = [ratio(r) for r in records if ratio(r)]
        if known:
            mean = math.exp(sum(map(math.log, known)) / len(known))
            lines += ["", f"Speed against {name}: {mean:.2f} in the geometric mean of {len(known)}, {min(known):.2f} at least."]
    return "\n".join(lines)


def renew(path, records, others):
    records = sorted(records, key=lambda r: (r["op"] in others, r["op"]))
    with open(path) as f:
        text = f.read()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    about = records[0]
    intro = (f"{about['model']}, {about['threads']} threads; each search ended at {about['until']:g} of the schedule that "
             f"ships, or after {max(r['budget'] for r in records) / 60:g} minutes.")
    with open(path, "w") as f:
        f.write(text[:begin] + "\n" + intro + "\n\n" + table(records) + "\n" + text[end:])

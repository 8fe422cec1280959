"""The table that a person reads, in the terminal."""

from .entry import FAMILIES

COLUMNS = ("op", "shape", "type", "cache", "thr", "time", "rate", "roof", "best peer", "peer's time", "ratio")


def time_text(s):
    return f"{s * 1e6:.4g} us" if s < 1e-3 else f"{s * 1e3:.4g} ms" if s < 1 else f"{s:.4g} s"


def rate_text(r):
    if r["bound"] == "arithmetic":
        return f"{r['flops'] / r['seconds'] * 1e-9:.4g} GFLOP/s"
    return f"{r['bytes'] / r['seconds'] * 1e-9:.4g} GB/s"


def short(shape):
    """rows=64,cols=4096 as 64x4096; shapes of many dimensions keep their names, and lose their ones."""
    if "=" not in shape:  # of an application
        return shape
    parts = [p.split("=") for p in shape.split(",")]
    if len(parts) <= 3:
        return "x".join(v for _, v in parts)
    return " ".join(f"{k}={v}" for k, v in parts if v != "1")


def ratio_text(r):
    if r["ratio"] is None:
        return "-"
    low, high = r["ratio_quartiles"]
    return f"{r['ratio']:.2f} ({low:.2f}-{high:.2f})"


def cells(r):
    return (f"{r['op']} {r['label']}".strip(), short(r["shape"]), r["type"], "in" if r["cache"] == "warm" else "out",
            str(r["threads"]), time_text(r["seconds"]), rate_text(r), f"{100 * r['roof_fraction']:.0f}%",
            r["peer"] or "-", time_text(r["peer_seconds"]) if r["peer"] else "-", ratio_text(r))


def table(records):
    lines = []
    for family in FAMILIES:
        rows = [cells(r) for r in records if r["family"] == family]
        if not rows:
            continue
        all_ = [COLUMNS, *rows]
        widths = [max(len(row[c]) for row in all_) for c in range(len(COLUMNS))]
        lines += ["", family]
        for row in all_:
            lines.append("  ".join(t.ljust(w) if c < 4 or c == 8 else t.rjust(w)
                                   for c, (t, w) in enumerate(zip(row, widths))).rstrip())
    return "\n".join(lines[1:])


def behind(records):
    """Rows where a peer is faster, worst first."""
    return sorted((r for r in records if r["ratio"] is not None and r["ratio"] < 1), key=lambda r: r["ratio"])

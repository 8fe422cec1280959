"""The table that a person reads."""

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


PAGE = """# Benchmarks

Made by `scripts/bench --page docs/performance.md`. Halyard's libraries and their peers took turns in one process,
in an order that rotated; a peer counts only if it computed the same numbers.

{machine}
{versions}

- **time** is the least of many samples, as others may use the machine; **ratio** the best peer's time over ours,
  with the quartiles that parts of the run gave. Above 1 Halyard is faster.
- **roof** is the larger of bytes over the bandwidth of a copy (for data in cache, of a copy in that cache) and
  operations over the multiply-add peak of the type, as measured on this machine, over our time.
  Bytes count every argument once; operations of exponentials and the like are counted as the registry has them.
- **cache**: "in" calls with the same buffers again and again; "out" with ones that go round twice the last level
  of cache, or are larger than that.
- Peers get weights ahead of the calls, in the order that they like best: frozen into torch.compile's graph, as
  initialisers in onnxruntime, packed for oneDNN's primitives with fused post-ops. Halyard's are packed likewise,
  except in "weights as they are".
- The environment is MALLOC_MMAP_MAX_=0, a large MALLOC_TRIM_THRESHOLD_, and on one thread OMP_WAIT_POLICY=passive; on
  more, each turn begins with calls that are not timed, until the workers of the last one are asleep.

The ratios are on file in `scripts/peers/ratios.json`; `scripts/bench` fails where one is no longer reached.
"""


def page(records, machine, versions, pictures):
    """docs/performance.md. `pictures`: {family: file}, as the page names it."""
    first, last = min(r["time"] for r in records)[:10], max(r["time"] for r in records)[:10]
    when = first if first == last else f"{first} to {last}"
    lines = [PAGE.format(machine=f"{machine}. {when}.", versions=versions.rstrip('.') + '.')]
    slower = behind(records)
    if slower:
        lines += ["## Where a peer is faster\n", "| row | ratio | of | roof |", "| --- | --- | --- | --- |"]
        lines += [f"| {r['key']} | {ratio_text(r)} | {r['peer']} | {100 * r['roof_fraction']:.0f}% |" for r in slower]
        lines.append("")
    for family in FAMILIES:
        rows = [cells(r) for r in records if r["family"] == family]
        if rows:
            lines.append(f"## {family}\n")
            if family in pictures:
                lines.append(f"![{family}]({pictures[family]})\n")
            lines += ["| " + " | ".join(COLUMNS) + " |", "| " + " | ".join("---" for _ in COLUMNS) + " |"]
            lines += ["| " + " | ".join(row) + " |" for row in rows]
            lines.append("")
    return "\n".join(lines)


def behind(records):
    """Rows where a peer is faster, worst first."""
    return sorted((r for r in records if r["ratio"] is not None and r["ratio"] < 1), key=lambda r: r["ratio"])

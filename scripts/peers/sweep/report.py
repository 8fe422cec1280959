"""The text of a run over the population."""

import re

from ..report import short, time_text
from .statistics import by, summary, worst

COLUMNS = ("op", "cases", "with a peer", "mean", "10th", "least", "behind", "roof")


def number(x):
    return "-" if x is None else f"{x:.2f}" if x >= 0.1 else f"{x:.2g}"


def cells(name, s):
    return (name, str(s["cases"]), str(s["with_peer"]), number(s["geometric_mean"]), number(s["tenth"]), number(s["least"]), str(s["behind"]),
            f"{100 * s['roof']:.0f}%" if s["roof"] else "-")


def aligned(rows, left=1):
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return ["  ".join(t.ljust(w) if c < left else t.rjust(w) for c, (t, w) in enumerate(zip(row, widths))).rstrip() for row in rows]


def chosen(r):
    """What the library took for the case, as far as it says so."""
    of = r.get("chosen") or {}
    version = re.search(r"version\{(.*?)\}", of.get("version") or "")
    return version[1] if version else of.get("schedule") or "-"


def worst_rows(records):
    rows = [("ratio", "roof", "op", "size", "type", "ours", "best peer", "chosen", "of")]
    for r in worst(records):
        rows.append((number(r["ratio"]), f"{100 * r['roof_fraction']:.0f}%", f"{r['op']} {r['label']}".strip(), short(r["shape"]), r["type"],
                     time_text(r["seconds"]), f"{r['peer']} {time_text(r['peer_seconds'])}", chosen(r), f"{r['case']['model']}, {r['case']['use']}"))
    return rows


def text(run):
    """`run`: records, failed, and what was left out."""
    records = run["records"]
    if not records:
        return "no case was timed"
    rows = [COLUMNS, *(cells(name, s) for field in ("op", "type") for name, s in by(field, records).items()), cells("in all", summary(records))]
    lines = [f"{run.get('target', 'host')}: {len(records)} cases of seed {run.get('seed')} on {records[0]['machine']}",
             "", *aligned(rows),
             "", "mean: geometric, of the best peer's time over ours; 10th: percentile; behind: cases with a faster peer;",
             "roof: geometric mean of the time that bytes and operations need at least, over ours",
             "", "The worst:", *aligned(worst_rows(records), left=9)]
    failed = run.get("failed", [])
    if failed:
        lines += ["", f"{len(failed)} failed:", *(f"  {f['key']}: {f['message']}" for f in failed)]
    missing = run.get("count", 0) - len(records) - len(failed)
    if missing > 0:
        lines += ["", f"{missing} of {run['count']} cases were not timed"]
    return "\n".join(lines)

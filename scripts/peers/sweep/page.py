"""The section of docs/performance.md about the population, of the runs in scripts/peers/sweeps."""

import os

from . import kept
from .report import cells as summary_cells, number
from .statistics import by, summary, worst

TITLE = "Over the population"
TEXT = """A table of sizes can be met while other sizes are slow. The population is what models really run: their hidden sizes, heads,
vocabularies and images ([architectures.py](../scripts/peers/population/architectures.py) has each with its source), from one
token to many, with the strides and epilogues that go with them. `scripts/bench --sweep N --seed S` draws N cases for a processor,
`scripts/gpu --sweep N --seed S FOLDER` packs them for a GPU; case number i of a seed is always the same. Every case runs on the
library that `halyard build` makes by default, with no number of a schedule set, and counts as much as any other.

- **mean** is the geometric mean of the best peer's time over ours, **10th** its 10th percentile, **least** the worst case.
- **roof** is the geometric mean of the time that bytes and operations need at least, over ours.
- `--against FILE` compares a run with a recorded one, case by case: it fails where the mean falls by 2 %, the 10th percentile by
  5 %, or an op's mean by 8 %. A change that helps one case and hurts a hundred fails.
"""
COLUMNS = ("machine", "op", "cases", "with a peer", "mean", "10th", "least", "behind", "roof")


def lines_of(columns, rows):
    return ["| " + " | ".join(row) + " |" for row in (columns, ["---"] * len(columns), *rows)]


def section(runs=None, picture=lambda run: None):
    """Lines; `picture`: of a run, its file as the page names it."""
    runs = kept.recorded() if runs is None else runs
    lines = [f"## {TITLE}\n", TEXT]
    if not runs:
        return [*lines, "No run is recorded yet: `scripts/bench --sweep ... --keep LABEL` records one.", ""]
    for run in runs:
        lines.append(f"- **{run['label']}**: {run['machine']}, {run['date']}, {len(run['records'])} of {run['count']} cases of seed {run['seed']}."
                     + (f" {len(run['failed'])} failed." if run["failed"] else "") + (f" {run['note']}" if run["note"] else ""))
    rows = []
    for run in runs:
        rows.append((run["label"], *summary_cells("in all", summary(run["records"]))))
        rows += [(run["label"], *summary_cells(op, s)) for op, s in by("op", run["records"]).items()]
    lines += ["", *lines_of(COLUMNS, rows), "", "The worst cases:", ""]
    slowest = [(run["label"], f"{r['op']} {r['label']}".strip(), r["shape"], r["type"], number(r["ratio"]), r["peer"], r["model"])
               for run in runs for r in worst(run["records"])]
    lines += [*lines_of(("machine", "op", "size", "type", "ratio", "peer", "of"), slowest), ""]
    for run in runs:
        if picture(run):
            lines.append(f"![{run['label']}]({picture(run)})\n")
    return lines


def picture_beside(page_path):
    """Where `scripts/bench --sweep --keep` put a run's picture."""
    def find(run):
        path = os.path.join(os.path.splitext(page_path)[0], "sweep-" + kept.file_name(run["label"]) + ".svg")
        return os.path.relpath(path, os.path.dirname(page_path)) if os.path.exists(path) else None
    return find

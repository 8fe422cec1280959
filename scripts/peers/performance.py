"""docs/performance.md, made of the recorded runs: `python3 -m peers.performance`.

A run is a file of scripts/peers/runs: what stands for all of it (label, machine, date, versions, note), the names of the
columns and a list a row, all as text. `scripts/bench --keep` writes one. Rows of which only the ratio is on file
(ratios.json) are in the page without times.
"""

import argparse
import glob
import json
import math
import os
import re

from . import ratios
from .entry import ENTRIES, FAMILIES
from .report import cells as bench_cells, short
from .sweep import page as population

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PIPELINES = "pipelines that nobody tuned here"
RUNS, PAGE, README = os.path.join(HERE, "runs"), os.path.join(ROOT, "docs", "performance.md"), os.path.join(ROOT, "README.md")
BEGIN, END = "<!-- python3 -m peers.performance writes this table -->", "<!-- end of the table -->"
COLUMNS = ("op", "shape", "type", "machine", "ours", "best peer", "ratio", "roof")

HEAD = """# Performance

What every op reaches: its time, the best peer's time and the share of the roof, on every machine that has a recorded run.
This page is generated from `scripts/peers/runs` and `scripts/peers/ratios.json`, by
`PYTHONPATH=scripts python3 -m peers.performance`. To measure again: `scripts/bench` on a processor, `scripts/gpu` for a GPU.

- **ours** is the least time of many calls, and the rate that follows from it. Where it is empty, only the ratio is on file.
- **best peer** is the fastest peer that computed the same numbers. Peers get their weights ahead of the calls in the layout
  that they like best, and so does Halyard, except in "weights as they are".
- **ratio** is the best peer's time over ours: above 1 Halyard is faster. In brackets stand the quartiles over parts of the run.
- **roof** is the time that the machine needs at least, over our time. On a processor that is the larger of the bytes over the
  bandwidth of a copy and the operations over the peak of the type, both measured there. On a GPU it is a copy of as many bytes
  where the run has one, else the rate over the bandwidth of a copy or over the documented peak of the type.
- **in** cache: the same buffers again and again. **out** of cache: buffers that go round twice the last level of cache.
- A processor's contestants are interleaved in one process, in an order that rotates. On a GPU those marked * are; the others
  ran one after the other.

What was tried to get there, and what holds back the rows that miss, is in [the notes](notes/README.md).
"""


def read_runs(folder=RUNS):
    runs = []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path) as f:
            run = json.load(f)
        run["rows"] = [dict(zip(run["columns"], row)) for row in run["rows"]]
        runs.append(run)
    return runs


def label_of(machine):
    """avx512_zen5 as Zen 5; other machines keep their name."""
    level = re.search(r"_zen(\d)", machine)
    return f"Zen {level.group(1)}" if level else machine


def recorded_rows(path=ratios.FILE):
    """The rows of ratios.json, without times. Their key is OP [LABEL] SHAPE TYPE warm|cold THREADSt."""
    from . import ops  # noqa: F401
    families = {e.op: e.family for e in ENTRIES}
    for machine, rows in ratios.read(path).items():
        for key, r in rows.items():
            words, cache, threads = key.split(" "), *key.split(" ")[-2:]
            yield label_of(machine), {
                "family": families.get(words[0], "application"), "op": " ".join(words[:-4]), "shape": short(words[-4]),
                "type": words[-3], "cache": "in" if cache == "warm" else "out", "threads": threads[:-1],
                "time": "", "rate": "", "roof": f"{100 * r['roof']:.0f}%", "peer": r.get("peer", ""), "peer_time": "",
                "ratio": f"{r['ratio']:.2f}" if "ratio" in r else ""}


def number(text):
    """The first number of a text, or None."""
    found = re.match(r"[\d.]+", text)
    return float(found.group()) if found else None


def roof_of(row, peaks):
    """As recorded, else the rate over the peak that bounds it."""
    if row["roof"] or not row["rate"]:
        return row["roof"]
    peak = peaks.get("copy" if row["rate"].endswith("B/s") else row["type"])
    return f"{100 * number(row['rate']) / number(peak):.0f}%" if peak else ""


def where(label, row):
    parts = [label]
    if row.get("threads"):
        parts.append("1 thread" if row["threads"] == "1" else f"{row['threads']} threads")
    if row.get("cache"):
        parts.append(row["cache"])
    return ", ".join(parts) + (" *" if row.get("timed") == "interleaved" else "")


def all_rows(runs, recorded):
    """Every row with its label and its roof; a run counts more than a ratio that is on file for the same row."""
    rows, seen = [], set()

    def key(label, r):
        return label, r["op"], r["shape"], r["type"], r.get("cache"), r.get("threads")
    for run in runs:
        for r in run["rows"]:
            seen.add(key(run["label"], r))
            rows.append({**r, "label": run["label"], "roof": roof_of(r, run.get("peaks", {}))})
    rows += [{**r, "label": label} for label, r in recorded if key(label, r) not in seen]
    return sorted(rows, key=lambda r: (FAMILIES.index(r["family"]), *order(r)))


def order(r):
    """An op's rows stand together: by variant, shape, type, then machine."""
    op = r["op"].replace(",", "").split(" ")
    return op[0], op[1:], r["shape"], r["type"], r["label"], r.get("threads", ""), r.get("cache", "")


def cells(r):
    ours = ", ".join(t for t in (r["time"], r["rate"]) if t)
    peer = " ".join(t for t in (r["peer"], r["peer_time"]) if t and t != "-")
    return r["op"], r["shape"], r["type"], where(r["label"], r), ours, peer, "" if r["ratio"] == "-" else r["ratio"], r["roof"]


def lines_of(columns, rows):
    return ["| " + " | ".join(row) + " |" for row in (columns, ["---"] * len(columns), *rows)]


def summary(rows):
    """A line a machine and family: how many rows have a peer, the mean and the least ratio, how many are behind."""
    lines = []
    for label in sorted({r["label"] for r in rows}):
        for family in FAMILIES:
            of = [number(r["ratio"]) for r in rows if r["label"] == label and r["family"] == family]
            of = [x for x in of if x]
            if of:
                mean = math.exp(sum(map(math.log, of)) / len(of))
                lines.append((label, family, str(len(of)), f"{mean:.2f}", f"{min(of):.2f}", str(sum(x < 1 for x in of))))
    return lines


SUMMARY = ("machine", "family", "rows with a peer", "ratio, geometric mean", "least", "rows below 1")


def page(runs, recorded, pictures=None, sweeps=None):
    from searches import pipelines  # which an exported folder of peers has not
    rows = all_rows(runs, recorded)
    lines = [HEAD, "## Contents\n", "- [Summary](#summary)", "- [The runs](#the-runs)",
             "- [Where a peer is faster](#where-a-peer-is-faster)"]
    families = [f for f in FAMILIES if any(r["family"] == f for r in rows)]
    others = pipelines.section()
    lines += [f"- [{f}](#{f.lower().replace(' ', '-')})" for f in (population.TITLE, *families, *([PIPELINES] if others else []))] + [""]
    lines += ["## Summary\n", *lines_of(SUMMARY, summary(rows)), "", "## The runs\n"]
    for run in runs:
        of_run, kinds = ({r[of] for r in run["rows"]} for of in ("op", "family"))
        what = of_run.pop() if len(of_run) == 1 else kinds.pop() if len(kinds) == 1 else "all ops"
        peaks = ", ".join(f"{'a copy' if k == 'copy' else k} {v}" for k, v in run.get("peaks", {}).items())
        lines.append(f"- **{run['label']}**, {what}: {run['machine']}, {run['date']}, by `{run['made_by']}`; {run['versions']}."
                     + (f" Peaks: {peaks}." if peaks else "") + (f" {run['note']}" if run["note"] else ""))
    behind = sorted((r for r in rows if (number(r["ratio"]) or 1) < 1), key=lambda r: (number(r["ratio"]), order(r)))
    lines += ["", "## Where a peer is faster\n", *lines_of(COLUMNS, map(cells, behind)), ""]
    lines += population.section(sweeps, population.picture_beside(PAGE))
    for family in families:
        lines.append(f"## {family}\n")
        if pictures and family in pictures:
            lines.append(f"![{family}]({pictures[family]})\n")
        lines += [*lines_of(COLUMNS, (cells(r) for r in rows if r["family"] == family)), ""]
    if others:
        lines += [f"## {PIPELINES}\n", others]
    return "\n".join(lines)


def pictures_beside(page_path):
    """{family: file} of the pictures that `scripts/bench --keep` drew, as the page names them."""
    folder = os.path.splitext(page_path)[0]
    files = {f: os.path.join(folder, f.lower().replace(" ", "-") + ".svg") for f in FAMILIES}
    return {f: os.path.relpath(p, os.path.dirname(page_path)) for f, p in files.items() if os.path.exists(p)}


RUN_COLUMNS = ("family", "op", "shape", "type", "cache", "threads", "time", "rate", "roof", "peer", "peer_time", "ratio")


def keep(label, records, versions, note, folder=RUNS):
    """Writes the records of scripts/bench as a run; returns the file. One of the same day and label is replaced."""
    first, last = min(r["time"] for r in records)[:10], max(r["time"] for r in records)[:10]
    head = {"label": label, "machine": records[0]["machine"], "date": first if first == last else f"{first} to {last}",
            "versions": versions, "made_by": "scripts/bench", "note": note}
    path = os.path.join(folder, f"{first}-{re.sub('[^a-z0-9]', '', label.lower())}.json")
    write_run(path, head, [[r["family"], *bench_cells(r)] for r in records])
    return path


def write_run(path, head, rows):
    """A row has what RUN_COLUMNS say."""
    lines = ",\n".join("  " + json.dumps(r) for r in rows)
    write(path, json.dumps({**head, "columns": RUN_COLUMNS}, indent=1)[:-2] + ',\n "rows": [\n' + lines + "\n ]\n}\n")


def minilm_table(runs):
    """README's small table: the application on every machine, by the best peer's time over ours."""
    of = [r for r in runs if {row["op"] for row in r["rows"]} == {"minilm"}]
    shapes = list(dict.fromkeys(row["shape"] for r in of for row in r["rows"] if "x" in row["shape"]))
    rows = []
    for run in of:
        for threads in dict.fromkeys(row["threads"] for row in run["rows"]):
            by = {row["shape"]: row for row in run["rows"] if row["threads"] == threads}
            kind = next(iter(by.values()))["type"]
            rows.append((where(run["label"], {"threads": threads}), kind,
                         *(f"{by[s]['time']}, {by[s]['ratio']}" if s in by else "" for s in shapes)))
    return lines_of(("machine", "type", *shapes), rows)


def with_table(text, table):
    """The text of README with its table renewed."""
    before, rest = text.split(BEGIN + "\n")
    return before + BEGIN + "\n" + "\n".join(table) + "\n" + END + rest.split(END, 1)[1]


def write(path, text):
    with open(path + ".part", "w") as f:
        f.write(text)
    os.replace(path + ".part", path)


def renew(page_path=PAGE, readme=README):
    """Writes the page and README's table."""
    runs = read_runs()
    write(page_path, page(runs, recorded_rows(), pictures_beside(page_path)))
    with open(readme) as f:
        text = f.read()
    write(readme, with_table(text, minilm_table(runs)))


def main():
    argparse.ArgumentParser(description="Writes docs/performance.md and README's table from the recorded runs.").parse_args()
    renew()


if __name__ == "__main__":
    main()

"""A picture a family: the fraction of the roof that Halyard and each peer reach, row by row."""

import os
import re

from . import report

COLOURS = {"halyard": "#1b6ca8", "torch": "#e07b39", "torch.compile": "#c0392b", "onnxruntime": "#7d5ba6",
           "oneDNN": "#2e8b57", "OpenBLAS": "#8a6d3b"}
MARKS = {"torch": "o", "torch.compile": "s", "onnxruntime": "^", "oneDNN": "D", "OpenBLAS": "v"}


def label(r):
    where = {"warm": "in cache", "cold": "out of cache"}[r["cache"]]
    text = f"{r['op']} {r['label']}".strip()
    return f"{text}  {report.short(r['shape'])}  {r['type']}, {where}, {r['threads']}t"


def draw(records, folder, ends=("svg", "png")):
    """Writes FAMILY.svg and .png to the folder; returns {family: the first of its files}."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "halyard"  # the same bytes for the same rows
    matplotlib.rcParams["svg.fonttype"] = "none"     # text as text: a quarter of the size
    import matplotlib.patches
    import matplotlib.pyplot as plt
    os.makedirs(folder, exist_ok=True)
    files = {}
    for family in dict.fromkeys(r["family"] for r in records):
        rows = [r for r in records if r["family"] == family]
        figure, axes = plt.subplots(figsize=(10, 1.6 + 0.24 * len(rows)), layout="constrained")
        used = {}
        for y, r in enumerate(rows):
            axes.barh(y, 100 * r["roof_fraction"], height=0.62, color=COLOURS["halyard"],
                      alpha=1 if not r["ratio"] or r["ratio"] >= 1 else 0.55, zorder=2)
            ours = r["schedule"].split(".")[0]
            for name, t in r["contestants"].items():
                base = next((c for c in sorted(MARKS, key=len, reverse=True) if name.startswith(c)), None)
                if base and not name.startswith(ours + ".") and name != ours:
                    used[base] = axes.scatter(100 * r["floor_seconds"] / t["least"], y, s=26, marker=MARKS[base],
                                              color=COLOURS[base], edgecolors="white", linewidths=0.6, zorder=4)
            if r["ratio"]:
                axes.text(1.01, y, f"{r['ratio']:.2f}", transform=axes.get_yaxis_transform(), va="center", fontsize=8,
                          color="black" if r["ratio"] >= 1 else "#c0392b",
                          fontweight="normal" if r["ratio"] >= 1 else "bold")
        axes.axvline(100, color="black", linewidth=1, zorder=3)
        axes.set_yticks(range(len(rows)), [label(r) for r in rows], fontsize=8)
        axes.invert_yaxis()
        axes.margins(y=0.01)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(0, max(108, *[100 * r["roof_fraction"] + 6 for r in rows]))
        axes.set_xlabel("% of the roof: a copy's bandwidth, or the multiply-add peak, as measured", fontsize=9)
        axes.text(1.01, 1, " best peer's time\n / Halyard's", transform=axes.transAxes, va="bottom", fontsize=7)
        axes.grid(axis="x", color="#dddddd", zorder=0)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.tick_params(axis="y", length=0)
        bars = [matplotlib.patches.Patch(color=COLOURS["halyard"], alpha=alpha) for alpha in (1, 0.55)]
        figure.suptitle(family, x=0.01, ha="left", fontsize=12, fontweight="bold")
        figure.legend([*bars, *used.values()], ["Halyard", "Halyard, a peer is faster", *used], fontsize=8,
                      ncols=2 + len(used), frameon=False, loc="outside lower center")
        stem = os.path.join(folder, re.sub(r"\W+", "-", family.lower()))
        for end in ends:
            figure.savefig(f"{stem}.{end}", dpi=110, metadata={"Date": None} if end == "svg" else None)
            files.setdefault(family, f"{stem}.{end}")
        plt.close(figure)
    return files

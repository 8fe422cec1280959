"""Recorded runs over the population, a file a machine: scripts/peers/sweeps/LABEL.json, of what `--against` and the page need."""

import glob
import json
import os
import re
import time

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "sweeps")
COLUMNS = ("key", "op", "label", "shape", "type", "model", "seconds", "peer", "peer_seconds", "ratio", "roof_fraction", "floor_seconds")


def rounded(x):
    return float(f"{x:.4g}") if isinstance(x, float) else x


def file_name(label):
    return re.sub(r"[^A-Za-z0-9._-]+", "-", label)


def keep(label, run, note="", folder=FOLDER):
    """Writes it; the file's name."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, file_name(label) + ".json")
    rows = [[rounded(r["case"]["model"] if c == "model" else r[c]) for c in COLUMNS] for r in run["records"]]
    head = {"label": label, "machine": run["records"][0]["machine"], "target": run["target"], "seed": run["seed"], "count": run["count"],
            "date": time.strftime("%Y-%m-%d"), "note": note, "commit": run.get("commit"), "failed": run["failed"], "columns": COLUMNS}
    with open(path + ".part", "w") as f:
        f.write(json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n' + ",\n".join("  " + json.dumps(r) for r in rows) + "\n ]\n}\n")
    os.replace(path + ".part", path)
    return path


def read(path):
    """A run, of --keep or of --json."""
    with open(path) as f:
        run = json.load(f)
    if "rows" in run:
        run["records"] = [{**dict(zip(run["columns"], row)), "machine": run["machine"]} for row in run["rows"]]
    return run


def recorded(folder=FOLDER):
    return [read(path) for path in sorted(glob.glob(os.path.join(folder, "*.json")))]

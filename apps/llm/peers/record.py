"""Runs of language models beside peers, as docs/performance.md has them: `PYTHONPATH=scripts python3 -m peers.performance` adds them to the page."""

import datetime
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts"))
from peers.performance import RUNS, write_run  # noqa: E402


def row(model, test, kind, threads, rate, peers):
    """`rate` in tokens a second, and those of peers by name."""
    best = max(peers, key=peers.get)
    return ["language models", model, test, kind, "", str(threads or ""), "", f"{rate:.0f} tokens/s", "", best, f"{peers[best]:.0f} tokens/s",
            f"{rate / peers[best]:.2f}"]


def test_name(test, tokens, depth):
    """As llama-bench has it: pp512 @ d4096."""
    return f"{test}{tokens}" + (f" @ d{depth}" if depth else "")


def write(label, machine, versions, made_by, note, rows, folder=RUNS):
    """Adds rows to the day's run of that label, and takes those of the same model, test, type and threads out; returns the file."""
    today = datetime.date.today().isoformat()
    path = pathlib.Path(folder) / f"{today}-llm-{re.sub('[^a-z0-9]', '', label.lower())}.json"
    before = json.loads(path.read_text())["rows"] if path.exists() else []
    key = lambda r: (*r[1:4], r[5])
    new = {key(r) for r in rows}
    head = {"label": label, "machine": machine, "date": today, "versions": versions, "made_by": made_by, "note": note}
    write_run(str(path), head, [r for r in before if key(r) not in new] + rows)
    return path

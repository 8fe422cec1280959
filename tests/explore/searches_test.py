"""scripts/explore as a user runs it: one op, kept at once, skipped the second time."""

import json
import os
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as work:
    records, page = os.path.join(work, "records.json"), os.path.join(work, "page.md")
    with open(page, "w") as f:
        f.write("before\n<!-- scripts/explore writes this table -->\nold\n<!-- end of the table -->\nafter\n")

    def explore(*options):
        return subprocess.run([sys.executable, "-m", "searches", "rms_norm", "--until", "0.05", "--budget", "20s",
                               "--threads", "1", "--records", records, "--page", page, *options], text=True, capture_output=True)

    first = explore()
    assert first.returncode == 0, first.stdout + first.stderr
    with open(records) as f:
        [record] = json.load(f)
    assert record["op"] == "rms_norm" and record["reached"] and record["threads"] == 1, record
    assert 'schedule "rms_norm"' in record["lua"], record["lua"]
    names = [b["name"] for b in record["beside"]]
    assert names[0] == "rms_norm" and "Halide's Mullapudi2016" in names, names
    assert record["beside"][0]["ratio"] >= 0.05, record
    with open(page) as f:
        text = f.read()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text, text
    assert "| rms_norm | cols=4096 rows=64 |" in text, text

    again = explore()
    assert again.returncode == 0 and "of the best of Halide's" not in again.stdout.split("\n")[0], again.stdout
    with open(records) as f:
        assert json.load(f) == [record]
    listed = explore("--list")
    assert "| rms_norm |" in listed.stdout, listed.stdout

    # What is behind fails, and says so.
    record["beside"][0]["ratio"] = 0.01
    with open(records, "w") as f:
        json.dump([record], f)
    behind = explore()
    assert behind.returncode == 1 and "rms_norm: 0.01 of the schedule that ships" in behind.stderr, behind.stderr

    unknown = subprocess.run([sys.executable, "-m", "searches", "rmsnorm"], text=True, capture_output=True)
    assert unknown.returncode == 1 and "there is no op rmsnorm" in unknown.stderr, unknown.stderr

"""scripts/bench as a user runs it, with the Python that runs this test and without peers."""

import json
import os
import subprocess
import sys
import tempfile

ROW = "rms_norm rows=8,cols=64 f32 warm 1t"
SMALL = ["rms_norm", "--shape", "rows=8,cols=64", "--types", "f32", "--threads", "1", "--seconds", "0.02", "--no-peers"]

_folder = tempfile.TemporaryDirectory()


def bench(*options, env=None):
    return subprocess.run([sys.executable, "-m", "peers", *options], text=True, capture_output=True,
                          env={**os.environ, **(env or {})})


def json_file(content=None):
    """A new file, until the tests end; with content, that as JSON."""
    handle, path = tempfile.mkstemp(suffix=".json", dir=_folder.name)
    with os.fdopen(handle, "w") as f:
        if content is not None:
            json.dump(content, f)
    return path


def read(path):
    with open(path) as f:
        return json.load(f)

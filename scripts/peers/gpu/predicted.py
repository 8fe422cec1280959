"""What `halyard explain` predicts that a case moves to and from device memory."""

import json
import subprocess
import sys

# The registry's names of dims that the table calls otherwise.
NAMES = {"attention": {"n": "batch", "h": "heads", "hk": "key_heads", "s": "queries"},
         "qkv_projection": {"n": "n_q", "k": "depth"},
         "swiglu_mlp": {"n": "hidden"}}


def shape(case, dims):
    """The size of `dims` as `halyard explain --shape` wants it."""
    named = {NAMES.get(case.op, {}).get(n, n): v for n, v in dims.items()}
    if case.op == "swiglu_mlp":
        named["n"] = dims["k"]
    if case.op == "group_norm":
        named["g"] = case.scalars["groups"]
    if case.op in ("conv2d", "conv2d_int8"):
        named["groups"] = 1
    return ",".join(f"{n}={v}" for n, v in named.items())


def device_bytes(command, case, kind, dims, devices):
    """Bytes that one call reads and writes, None where explain has no answer. `command`: the halyard command."""
    arguments = [command, "explain", case.op, "--target", "cuda", "--devices", devices.split(",")[0], "--predict", "--json",
                 "--shape", shape(case, dims), "--schedule", case.schedule or case.op, "--param", f"type={kind}"]
    for n, v in case.params.items():
        arguments += ["--param", f"{n}={v}"]
    for n, v in case.settings.items():
        arguments += ["--set", f"{n}={v}"]
    r = subprocess.run(arguments, capture_output=True, text=True)
    if r.returncode:
        print(f"{case.library(kind)}: no prediction: {r.stderr.strip().splitlines()[0]}", file=sys.stderr)
        return None
    moved = json.loads(r.stdout)["schedules"][0]["memory"]
    return moved["read"] + moved["written"]

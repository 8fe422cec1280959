"""Builds the libraries of the table and puts them where a machine with a GPU finds them."""

import argparse
import json
import os
import shutil
import subprocess
import sys

from .predicted import device_bytes
from .table import CASES

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.environ.get("HALYARD_ROOT", os.path.join(ROOT, "build"))


def build(case, kind, folder, devices):
    name = case.library(kind)
    command = [os.path.join(BUILD, "bin", "halyard"), "build", case.op, "--target", "cuda", "--devices", devices, "--name", name,
               "-o", folder, "-q", "--emit", "static_library,c_header,cuda", "--param", f"type={kind}"]
    for n, v in case.params.items():
        command += ["--param", f"{n}={v}"]
    for n, v in case.settings.items():
        command += ["--set", f"{n}={v}"]
    if case.schedule:
        command += ["--schedule", case.schedule]
    subprocess.run(command, check=True)
    runtime = os.path.join(BUILD, "lib", "libhalyard_runtime.a")
    subprocess.run([os.environ.get("CXX", "c++"), "-shared", "-s", "-o", os.path.join(folder, name + ".so"), "-Wl,-Bsymbolic", "-Wl,--whole-archive",
                    os.path.join(folder, name + ".a"), runtime, "-Wl,--no-whole-archive", "-lpthread", "-ldl", "-lm"], check=True)
    os.remove(os.path.join(folder, name + ".a"))
    os.remove(os.path.join(folder, name + ".h"))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("folder")
    p.add_argument("ops", nargs="*")
    p.add_argument("--devices", default="sm_90a")
    p.add_argument("--predict", action="store_true", help="with what explain says that a call moves, for gpu.run --bytes")
    o = p.parse_args()
    os.makedirs(o.folder, exist_ok=True)
    failed, predicted = [], {}
    for case in CASES:
        if o.ops and case.op not in o.ops:
            continue
        for kind in dict.fromkeys((*case.types, *case.checked_types)):
            try:
                build(case, kind, o.folder, o.devices)
            except subprocess.CalledProcessError:
                failed.append(case.library(kind))
                continue
            if o.predict and kind in case.types and case.timed:
                command = os.path.join(BUILD, "bin", "halyard")
                predicted[case.library(kind)] = device_bytes(command, case, kind, case.timed[0], o.devices)
    here = os.path.dirname(os.path.abspath(__file__))
    shutil.copytree(here, os.path.join(o.folder, "gpu"), dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    with open(os.path.join(o.folder, "pack.json"), "w") as f:
        json.dump({"ops": o.ops, "failed": failed, "predicted": predicted}, f)
    if failed:
        sys.exit("could not be built: " + " ".join(failed))


if __name__ == "__main__":
    main()

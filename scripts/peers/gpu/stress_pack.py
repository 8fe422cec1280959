"""scripts/gpu --stress FOLDER: every CUDA schedule, for a machine with a GPU that calls it while other work keeps the memory busy.

    FOLDER/libraries.tar.xz   a library for each case of stress_cases.py, for one type
    FOLDER/stress.json        which there are
    FOLDER/peers              what calls them there: `python3 -m peers.gpu.stress` in FOLDER, which has --help
"""

import argparse
import concurrent.futures
import json
import lzma
import os
import sys
import tarfile
import tempfile

from .pack import BUILD
from .stress_cases import STRESSED
from .sweep_pack import build_by, commit, copy_package, size

MOST_BYTES = 48 << 20   # beside the tree that it travels with
MOST_DICTIONARY = 256 << 20


def command(case, kind, folder, devices):
    words = [os.path.join(BUILD, "bin", "halyard"), "build", case.op, "--target", "cuda", "--devices", devices, "--no-db", "--name", case.library(kind),
             "-o", folder, "-q"]
    for option, values in (("--param", {**({"type": kind} if kind else {}), **case.params}), ("--set", case.settings)):
        for n, v in values.items():
            words += [option, f"{n}={v}"]
    return words + (["--schedule", case.schedule] if case.schedule else [])


def build(case, folder, devices):
    """NAME.so, or a sentence where it failed."""
    name = case.library(case.types[0])
    if os.path.exists(os.path.join(folder, name + ".so")):  # --libraries
        return None
    return build_by(command(case, case.types[0], folder, devices), name, folder)


def pack(names, folder, file):
    """All in one archive whose dictionary spans libraries: each has the same runtime, and kernels like those of others."""
    together = sum(os.path.getsize(os.path.join(folder, name + ".so")) for name in names)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": max(1 << 20, min(together, MOST_DICTIONARY))}]
    with lzma.open(file + ".part", "wb", filters=filters) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name in sorted(names):
            archive.add(os.path.join(folder, name + ".so"), name + ".so")
    os.replace(file + ".part", file)


def main():
    p = argparse.ArgumentParser(prog="scripts/gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--stress", action="store_true", required=True)
    p.add_argument("--devices", default="sm_90a")
    p.add_argument("--libraries", metavar="DIR", help="where libraries stay that are built, and are taken from: goes on with an interrupted pack")
    p.add_argument("--ops", type=lambda t: t.split(","), default=[], help="only the cases of these, with commas")
    p.add_argument("--only", type=lambda t: t.split(","), default=[], help="only these libraries, with commas")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        return make(o, o.libraries or temporary)


def make(o, into):
    os.makedirs(into, exist_ok=True)
    os.makedirs(o.folder, exist_ok=True)
    needed = {c.library(c.types[0]): c for c in STRESSED if not o.ops or c.op in o.ops}
    needed = {name: c for name, c in needed.items() if not o.only or name in o.only}
    failed, began = {}, commit()
    reused = [n for n in needed if os.path.exists(os.path.join(into, n + ".so"))]  # of whatever commit
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, sentence in zip(needed, pool.map(lambda c: build(c, into, o.devices), needed.values())):
            if sentence:
                failed[name] = sentence
                print(f"{name}: {sentence}", file=sys.stderr, flush=True)
    made = [n for n in needed if n not in failed]
    pack(made, into, os.path.join(o.folder, "libraries.tar.xz"))
    copy_package(o.folder)
    with open(os.path.join(o.folder, "stress.json"), "w") as f:
        json.dump({"commit": began, "devices": o.devices, "failed": failed, "libraries": made, "reused": reused}, f, indent=0)
    print(f"{len(made)} libraries, {len(reused)} of them built before, {size(o.folder) / 2 ** 20:.1f} MiB in {o.folder}")
    if size(o.folder) > MOST_BYTES:
        sys.exit(f"error: the pack is larger than {MOST_BYTES >> 20} MiB; take fewer ops")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""scripts/gpu --sweep N --seed S FOLDER: cases of the population and the fewest libraries that they need, for a machine with a GPU.

    FOLDER/libraries    a default library for each op, type and parameters
    FOLDER/sweep.json   the cases, and which library each takes
    FOLDER/peers        what times them there: `python3 -m peers.gpu.sweep` in FOLDER, which has --help
"""

import argparse
import concurrent.futures
import json
import lzma
import os
import shutil
import subprocess
import sys

from ..population import libraries
from ..population.draw import sweep
from .pack import BUILD

MOST_BYTES = 60 << 20


def command(case, folder, devices):
    params, settings, schedule = libraries.cuda(case)
    words = [os.path.join(BUILD, "bin", "halyard"), "build", case.op, "--target", "cuda", "--devices", devices, "--no-db", "--name", libraries.name(case),
             "-o", folder, "-q"]
    for option, values in (("--param", params), ("--set", settings)):
        for n, v in values.items():
            words += [option, f"{n}={v}"]
    return words + (["--schedule", schedule] if schedule else [])


def build_by(command, name, folder):
    """Runs a command that builds the library `name` in the folder, and makes NAME.so of it; a sentence where it failed."""
    library = os.path.join(folder, name + ".so")
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        return (made.stderr.strip().splitlines() or ["no message"])[0]
    subprocess.run([os.environ.get("CXX", "c++"), "-shared", "-s", "-o", library + ".part", "-Wl,-Bsymbolic,--gc-sections", "-Wl,--whole-archive",
                    os.path.join(folder, name + ".a"), "-Wl,--no-whole-archive", os.path.join(BUILD, "lib", "libhalyard_runtime.a"),
                    "-Wl,--undefined=halyard_cuda_wrap,--undefined=halyard_cuda_unwrap,--undefined=halyard_cuda_set_stream,--undefined=halyard_last_error",
                    "-lpthread", "-ldl", "-lm"], check=True)
    os.replace(library + ".part", library)
    for end in (".a", ".h"):
        os.remove(os.path.join(folder, name + end))
    return None


def build(case, folder, devices):
    """NAME.so.xz, or a sentence where it failed."""
    name = libraries.name(case)
    library = os.path.join(folder, name + ".so")
    if os.path.exists(library + ".xz"):  # --keep
        return None
    if sentence := build_by(command(case, folder, devices), name, folder):
        return sentence
    with open(library, "rb") as made, lzma.open(library + ".xz.part", "wb", preset=4) as packed:
        shutil.copyfileobj(made, packed)
    os.replace(library + ".xz.part", library + ".xz")
    os.remove(library)
    return None


def copy_package(folder):
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for part in ("gpu", "population"):
        shutil.copytree(os.path.join(here, part), os.path.join(folder, "peers", part), dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__pycache__", "triton_*"))


def commit():
    """Of the sources that the libraries come from, where git knows."""
    said = subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(BUILD)), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return said.stdout.strip() or None


def size(folder):
    return sum(os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk(folder) for f in files)


def main():
    p = argparse.ArgumentParser(prog="scripts/gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--sweep", type=int, required=True, metavar="N", help="cases")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--devices", default="sm_90a")
    p.add_argument("--keep", action="store_true", help="do not build again what the folder has: goes on with an interrupted pack")
    p.add_argument("--ops", type=lambda t: t.split(","), default=[], help="only the cases of these, with commas")
    o = p.parse_args()
    into = os.path.join(o.folder, "libraries")
    os.makedirs(into, exist_ok=True)
    cases = [c for c in sweep(o.seed, 0, o.sweep, "cuda") if not o.ops or c.op in o.ops]
    needed = {libraries.name(c): c for c in cases}
    for file in os.listdir(into):
        if not (o.keep and file.removesuffix(".so.xz") in needed):
            os.remove(os.path.join(into, file))
    failed, began = {}, commit()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (name, case), sentence in zip(needed.items(), pool.map(lambda c: build(c, into, o.devices), needed.values())):
            if sentence:
                failed[name] = sentence
                print(f"{case.op} {case.type} [{case.label}]: {sentence}", file=sys.stderr, flush=True)
    copy_package(o.folder)
    with open(os.path.join(o.folder, "sweep.json"), "w") as f:
        json.dump({"seed": o.seed, "commit": began, "devices": o.devices, "failed": failed,
                   "cases": [{**c.record(), "library": libraries.name(c)} for c in cases]}, f, indent=0)
    print(f"{len(cases)} cases, {len(needed) - len(failed)} libraries, {size(o.folder) / 2 ** 20:.1f} MiB in {o.folder}")
    if size(o.folder) > MOST_BYTES:
        sys.exit(f"error: the pack is larger than {MOST_BYTES >> 20} MiB; take fewer cases")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""scripts/bench --export: the kernels of the rows, built for another machine, with all that times them there.

    FOLDER/peers          this package: `python3 -m peers` in FOLDER takes the options of scripts/bench
    FOLDER/kernels        the kernels, and in kernels.json beside it which requests they answer
    FOLDER/lib            what loads and calls them, and the libraries that it needs
    FOLDER/apps/minilm    the application, where it is among the rows, with its weights in FOLDER/.halyard

The machine needs Python; peers are those that its Python has. A further export into the same folder adds to it, or
replaces what it had.
"""

import os
import shutil
import subprocess
import sys

from . import application, contest, library
from .worker import application_cases, selected

EVERYWHERE = ("linux-vdso", "ld-linux", "libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libgcc_s.so",
              "libstdc++.so")


def export(folder, target, task):
    """Rows that do not build are left out; a list of sentences about them."""
    failed = []
    kernels = os.path.join(folder, "kernels")
    os.makedirs(kernels, exist_ok=True)
    index = library.read_exported(folder)
    amx = "sapphirerapids" in target  # in a level as in Halide's own strings
    for entry, shape, kind in selected(task):
        for request in contest.requests(entry, shape, kind, amx, task["schedule"]):
            text = library.request_text(*request)
            file = index[text]["file"] if text in index else f"{entry.op}-{len(index)}.so"
            try:
                about = library.export_kernel(text, target, os.path.join(kernels, file))
            except library.Failure as failure:
                failed.append(f"{entry.name} {shape} {kind}: {failure}")
                continue
            index[text] = {**about, "file": file}
            library.write_exported(folder, index)
            print(f"{entry.name} {kind}: {os.path.basename(about['script'])}", file=sys.stderr, flush=True)
    copy_package(folder)
    if list(application_cases(task)):
        application.build()
        copy_binary(folder, "apps/minilm/minilm")
        for part in ("peers", "data"):
            copy_tree(os.path.join(library.ROOT, "apps/minilm", part), os.path.join(folder, "apps/minilm", part))
        copy_tree(application.MODEL, os.path.join(folder, ".halyard/minilm"), "README*", "[.]*")
    library.write_exported(folder, index)
    return failed


def copy_package(folder):
    """What times, but for the kernels."""
    copy_tree(os.path.dirname(os.path.abspath(__file__)), os.path.join(folder, "peers"), "gpu", "*.cpp", "*.h", "*.txt")
    copy_binary(folder, "lib/libhalyard_peers.so")


def copy_tree(source, to, *leave):
    shutil.copytree(source, to, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", *leave))


def copy_binary(folder, path):
    """A file of the build tree to the same place in the folder, and what it is linked with to FOLDER/lib."""
    source, to = os.path.join(library.BUILD, path), os.path.join(folder, path)
    os.makedirs(os.path.dirname(to), exist_ok=True)
    os.makedirs(os.path.join(folder, "lib"), exist_ok=True)
    shutil.copy2(source, to)
    linked = subprocess.run(["ldd", source], capture_output=True, text=True, check=True).stdout
    for line in linked.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow and not name.startswith(EVERYWHERE):
            shutil.copy2(rest.split(" (")[0], os.path.join(folder, "lib", name))

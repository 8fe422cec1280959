"""scripts/bench --models MODELS --export FOLDER: models compiled for another machine, with all that times them there.

    FOLDER/peers        the package: `python3 -m peers --models models` in FOLDER takes the options of scripts/bench
    FOLDER/models       the ONNX files, as MODELS has them
    FOLDER/compiled     of each what `halyard compile --shared` writes
    FOLDER/lib          the runtime, and what asks the machine

A further export into the same folder adds to it.
"""

import os
import shutil
import sys

from .. import library
from ..export import copy_binary, copy_package
from . import command, contestants


def export(folder, target, models, wanted):
    """Models that cannot be compiled are left out; a list of sentences about them."""
    failed = []
    for case in command.cases(wanted):
        path, name = command.path_of(case, models), command.name_of(case)
        made = os.path.join(folder, "compiled", name)
        try:
            contestants.compiled(path, made, name, target)
        except library.Failure as failure:
            failed.append(f"{case['name']}: {failure}")
            continue
        for rest in (f"lib{name}.a", f"{name}.h", f"{name}.lua"):
            os.remove(os.path.join(made, rest))
        to = os.path.join(folder, "models", case["file"])
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copyfile(path, to)
        print(case["name"], file=sys.stderr, flush=True)
    copy_package(folder)
    copy_binary(folder, "lib/halyard/libhalyard_runtime.so.0")
    library.write_exported(folder, library.read_exported(folder))  # by which it is known as an export
    return failed

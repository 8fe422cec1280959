"""A folder includes only from folders that stand before it in ROOMS, so that there is no arrow upwards and no circle."""

import os
import pathlib
import re
import sys

ROOMS = [
    "generators/math",
    "generators/graph",
    "generators",
    "runtime/include/halyard",
    "runtime",
    "runtime/python/native",
    "schedules/lowering",
    "schedules/lowering/host",
    "schedules/lowering/cuda/extract",
    "schedules/lowering/cuda/simt",
    "schedules/lowering/cuda/print",
    "schedules/lowering/cuda/tensor_cores",
    "schedules/lowering/cuda/tiles",
    "schedules/lowering/cuda/emulator",
    "schedules/lowering/cuda/device",
    "schedules/lowering/cuda",
    "schedules/language",
    "scripts/kernel",
    "scripts/explain",
    "schedules/explore",
    "schedules/explore/space",
    "schedules/explore/store",
    "schedules/explore/measure",
    "schedules/explore/workers",
    "schedules/explore/compare",
    "scripts/peers",
    "scripts/models",
    "scripts/command",
]
TOPS = ["generators", "runtime", "schedules", "scripts"]
# Where an include in quotes is looked for, beside the includer's own folder. Of the last one are headers that NVRTC and users'
# compilers get, in these folders alone.
ROOTS = ["", "schedules", "scripts", "generators", "runtime/include", "schedules/lowering/cuda"]
# Headers that CMake writes, or that come with Halide.
NOT_OURS = {"HalideRuntime.h", "HalideRuntimeCuda.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def sources(top):
    for folder in TOPS:
        for path in sorted((top / folder).rglob("*")):
            if path.suffix in (".h", ".c", ".cpp", ".inc"):
                yield path.relative_to(top)


def found(top, includer, name):
    for root in [includer.parent.as_posix(), *ROOTS]:
        path = pathlib.PurePosixPath(os.path.normpath(os.path.join(root, name)))
        if (top / path).is_file():
            return path
    return None


def faults(top):
    place = {room: i for i, room in enumerate(ROOMS)}
    for path in sources(top):
        room = path.parent.as_posix()
        if room not in place:
            yield f"{path}: its folder is not one of the rooms; add it to {pathlib.Path(__file__).name} where it stands"
            continue
        for name in INCLUDE.findall((top / path).read_text()):
            header = found(top, path, name)
            if header is None:
                if name not in NOT_OURS:
                    yield f'{path}: there is no "{name}" in this tree; headers of others are included with <>'
                continue
            other = header.parent.as_posix()
            if other not in place:
                continue  # its own fault is reported
            if place[other] > place[room]:
                yield f"{path}: includes {header}, but {room} stands below {other}"
            if other != room and "/" not in name:
                yield f'{path}: includes "{name}" of {other}; write its folder too'


if __name__ == "__main__":
    all_faults = list(faults(pathlib.Path(os.environ["HALYARD_SOURCE"])))
    print("\n".join(all_faults))
    sys.exit(1 if all_faults else 0)

"""The halyard command of this package: where it is, what it needs around it, and a call of it."""

import functools
import importlib.metadata
import importlib.util
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent
__version__ = importlib.metadata.version("halyard")


class Error(RuntimeError):
    """What a library, a schedule or the command had to say."""


def _folder(package, *parts):
    """A folder of another distribution, which is not imported; None where it is not installed."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = pathlib.Path(place, *parts)
        if folder.is_dir():
            return folder
    return None


@functools.cache
def _settings():
    """Where pieces of other distributions are, which usually lie beside this one."""
    # For explore --workers, where it has Ray, and for compile, where it has the onnx package.
    settings = {"HALYARD_WORKERS_PYTHON": sys.executable, "HALYARD_PYTHON": sys.executable}
    halide = _folder("halide", "lib64")
    if halide is None:
        raise Error("the package halide is not installed; pip install halyard brings it")
    if halide != ROOT.parent / "halide" / "lib64":
        settings["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(halide), os.environ.get("LD_LIBRARY_PATH")]))
    llvm = _folder("llvmlite", "binding")
    if llvm is not None:
        settings["HALYARD_LLVMLITE"] = str(llvm / "libllvmlite.so")
    nvidia = _folder("nvidia", "cu13", "lib")
    for variable, name in (("HALYARD_NVRTC", "libnvrtc.so.13"), ("HALYARD_NVFATBIN", "libnvfatbin.so.13")):
        if nvidia is not None and (nvidia / name).exists():
            settings[variable] = str(nvidia / name)
    return settings


def environment():
    return {**_settings(), **os.environ, **{k: v for k, v in _settings().items() if k == "LD_LIBRARY_PATH"}}


def op_name(name):
    """A word that the command takes for no option."""
    if not isinstance(name, str) or not name or name.startswith("-"):
        raise Error(f"{name!r} is not the name of an op; halyard.ops() has them")
    return name


def run(*arguments):
    """What the command prints. Raises Error with the text where it fails."""
    words = [str(ROOT / "bin" / "halyard"), *map(os.fspath, arguments)]
    result = subprocess.run(words, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if result.returncode != 0:
        text = result.stderr.strip().removeprefix("error: ")
        # How to ask the command for help is nothing for who did not call it.
        text = "\n".join(line for line in text.splitlines() if not line.startswith("  for help: "))
        raise Error(text or f"halyard {arguments[0]} ended with {result.returncode}")
    return result.stdout


def value_text(value):
    """As the command line has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def options(*, schedule=None, shape=None, target=None, devices=None, set=None, facts=None, generator=None, params=None):
    """The words that most of the command's subcommands take."""
    words = []
    for name, value in (("--schedule", schedule), ("--target", target), ("--generator", generator)):
        words += [f"{name}={os.fsdecode(value)}"] if value is not None else []
    if devices is not None:
        words += [f"--devices={devices if isinstance(devices, str) else ','.join(devices)}"]
    if shape is not None:
        words += ["--shape=" + (shape if isinstance(shape, str) else ",".join(f"{k}={v}" for k, v in shape.items()))]
    for name, values in (("--set", set), ("--fact", facts), ("--param", params)):
        if values is not None and not hasattr(values, "items"):
            raise Error(f"{name.lstrip('-')} takes a dictionary of names and values, not {values!r}")
        words += [f"{name}={key}={value_text(value)}" for key, value in (values or {}).items()]
    return words


def main():
    """The halyard command: this process becomes it."""
    program = str(ROOT / "bin" / "halyard")
    os.execve(program, ["halyard", *sys.argv[1:]], environment())

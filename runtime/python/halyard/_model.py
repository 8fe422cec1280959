"""Whole models: an ONNX file, compiled by the command and called with arrays."""

import ast
import ctypes
import hashlib
import json
import operator
import os
import pathlib
import tempfile

import ml_dtypes  # noqa: F401  numpy knows bfloat16 by it
import numpy

from ._arrays import unmasked
from ._command import Error, run
from ._pages import _cache

_FUNCTIONS = {"div": operator.floordiv, "max": max, "min": min}
_OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def _evaluated(text, sizes):
    """A size of the report, such as div(n-1,2)*3+1, with numbers for its dimensions."""
    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name):
            return sizes[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            return _OPERATIONS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            return _FUNCTIONS[node.func.id](*map(value, node.args))
        raise Error(f"{text} is no size")
    return value(ast.parse(text, mode="eval").body)


def _loaded(path):
    """The file as it is now: by a name of its own, as a loader takes what it has loaded by the same name before."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        own = pathlib.Path(folder) / path.name
        os.link(path, own)
        return ctypes.CDLL(str(own))


class Model:
    """A compiled model. A call takes its inputs by position or by name, and returns its output, or a tuple of them.

    `folder` has the files that `halyard compile` writes; `groups`, a path, is the Lua that says what is computed together, which can be
    edited and given back as `schedule`. Any number of threads may call it."""

    def __init__(self, folder, name):
        self.name, self.folder = name, pathlib.Path(folder)
        self.report = json.loads((self.folder / f"{name}.json").read_text())
        self.groups = self.folder / f"{name}.lua"
        self._library = _loaded(self.folder / f"{name}.so")
        self._library.halyard_last_error.restype = ctypes.c_char_p
        self._model = ctypes.c_void_p()
        self._check(self._function("load")(os.fsencode(self.folder / f"{name}.weights"), ctypes.byref(self._model)))

    def __del__(self):
        if getattr(self, "_model", None):
            self._function("unload")(self._model)

    def __repr__(self):
        def shown(arrays):
            return ", ".join(f"{a['name']}: {a['type']}[{', '.join(a['shape'])}]" for a in arrays)
        return f"<halyard model {self.name}({shown(self.report['inputs'])}) -> {shown(self.report['outputs'])}>"

    def _function(self, what):
        return getattr(self._library, f"{self.name}_{what}")

    def _check(self, code):
        if code != 0:
            raise Error(self._library.halyard_last_error().decode(errors="replace"))

    def _given(self, arrays, named):
        """The inputs as arrays of numpy."""
        inputs = self.report["inputs"]
        names = [i["name"] for i in inputs]
        if len(arrays) > len(names):
            raise TypeError(f"{self.name} takes {len(names)} arrays, {', '.join(names)}; {len(arrays)} were given")
        given = {**dict(zip(names, arrays)), **named}
        for wrong, what in (([n for n in given if n not in names], "is none of them"), ([n for n in names[:len(arrays)] if n in named], "was given twice"),
                            ([n for n in names if n not in given], "is missing")):
            if wrong:
                raise TypeError(f"{self.name} takes {', '.join(names)}; {wrong[0]} {what}")
        made = []
        for i in inputs:
            array = numpy.asarray(unmasked(given[i["name"]]))
            if array.dtype != numpy.dtype(i["type"]):
                raise TypeError(f"{self.name}: {i['name']} is {i['type']}, not {array.dtype}")
            if array.ndim != len(i["shape"]):
                raise ValueError(f"{self.name}: {i['name']} has {len(i['shape'])} dimensions, [{', '.join(i['shape'])}], not {array.ndim}")
            made.append(array)
        return made

    def _sizes(self, arrays):
        """The free dimensions, from the shapes that are given."""
        sizes = {}
        places = [(i, d, text, array.shape[d]) for i, array in zip(self.report["inputs"], arrays) for d, text in enumerate(i["shape"])]
        for _, _, text, size in places:
            if text.isidentifier():
                sizes.setdefault(text, size)
        for i, d, text, size in places:
            if (wanted := _evaluated(text, sizes)) != size:
                raise ValueError(f"{self.name}: dimension {d} of {i['name']}, {text}, has to be {wanted}, not {size}")
        return sizes

    def __call__(self, *arrays, **named):
        arrays = self._given(arrays, named)
        sizes = self._sizes(arrays)
        dimensions = [d["name"] for d in self.report["dimensions"]]
        given = (ctypes.c_int32 * max(len(dimensions), 1))(*[min(sizes[d], 2**31 - 1) for d in dimensions])
        count = len(arrays) + len(self.report["outputs"])
        needed = (ctypes.c_size_t * (count + 1))()
        self._check(self._function("measure")(given, needed))
        outputs = [numpy.empty([_evaluated(s, sizes) for s in o["shape"]], o["type"]) for o in self.report["outputs"]]
        for array, size in zip(arrays + outputs, needed[1:]):
            if array.nbytes != size:
                raise Error(f"{self.name}: an array has {array.nbytes} bytes, and the library wants {size}; compile the model once more")
        arrays = [numpy.ascontiguousarray(a) for a in arrays]  # of the size that is right: a view of one element may be of any
        workspace = numpy.empty(needed[0] + 64, numpy.uint8)
        begin = (workspace.ctypes.data + 63) // 64 * 64
        pointers = (ctypes.c_void_p * count)(*[a.ctypes.data for a in arrays + outputs])
        self._check(self._function("run")(self._model, given, pointers, ctypes.c_void_p(begin)))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _range_text(size):
    return f"{size[0]}..{size[1]}" if isinstance(size, (tuple, list)) and len(size) == 2 else str(size)


def compile_model(path, *, dims=None, schedule=None, type=None, target=None, name="model", out=None):
    """Compiles an ONNX file for this processor and loads it.

    dims      {"batch": 4, "tokens": (1, 256)}: sizes of free dimensions, or their ranges
    schedule  a NAME.lua of this model, edited: what is computed together
    type      "bfloat16" or "float16": of weights and of arrays between groups; inputs and outputs stay
    out       the folder for its files; without it they are in the cache
    """
    path = pathlib.Path(os.fsdecode(path))
    words = [f"--dim={key}={_range_text(value)}" for key, value in (dims or {}).items()]
    words += [f"--schedule={os.fsdecode(schedule)}"] if schedule is not None else []
    words += [f"--type={type}"] if type is not None else []
    words += [f"--target={target}"] if target is not None else []
    if target is not None and target.split(",")[0] == "cuda":
        raise Error("models for CUDA are called from C: halyard compile --target cuda")
    if out is None:
        asked = [str(path.absolute()), *words, name]
        out = pathlib.Path(_cache()) / "compiled" / hashlib.sha256("\0".join(asked).encode()).hexdigest()[:24]
        out.mkdir(parents=True, exist_ok=True)
    run("compile", "--shared", "--json", f"--name={name}", f"--output={os.fsdecode(out)}", *words, "--", str(path.absolute()))
    return Model(out, name)

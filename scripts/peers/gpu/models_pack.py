"""Whole models for a machine with a GPU, here: `scripts/gpu --models MODELS FOLDER`, with those of peers/models/cases.json that are in MODELS.

Each is compiled for CUDA and linked with the runtime; inputs and what onnxruntime says of them are recorded, for the sizes of the table and for
odd ones. There, `python3 -m gpu.models FOLDER` compares and times.
"""

import argparse
import json
import lzma
import os
import shutil
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.environ.get("HALYARD_ROOT", os.path.join(ROOT, "build"))
HALVES = ("MiniLM",)  # of which there is one in bfloat16, too
ODD = {
    "MiniLM": [{"batch": 2, "tokens": 5}, {"batch": 3, "tokens": 33}, {"batch": 1, "tokens": 1}],
    "OCR detection": [{"p2o_DynamicDimension_0": 2, "p2o_DynamicDimension_1": 96, "p2o_DynamicDimension_2": 160}],
    "OCR recognition": [{"p2o_DynamicDimension_0": 2, "x_2": 48, "p2o_DynamicDimension_1": 77}],
    "OCR classification": [{"x_0": 3, "x_2": 48, "x_3": 101}],
    "NudeNet (YOLOv8n)": [{"batch": 2, "height": 96, "width": 160}],
}


def compiled(path, folder, name, devices, kind):
    """Compiles a model, and links it as a shared object with the runtime."""
    command = [os.path.join(BUILD, "bin/halyard"), "compile", path, "-o", folder, "--name", name, "--quiet", "--target", "cuda", "--devices", devices]
    subprocess.run([*command, *(["--type", kind] if kind else [])], check=True)
    archive = os.path.join(folder, f"lib{name}.a")
    subprocess.run([os.environ.get("CXX", "c++"), "-shared", "-s", "-o", os.path.join(folder, f"{name}.so"), "-Wl,-Bsymbolic", "-Wl,--whole-archive", archive,
                    os.path.join(BUILD, "lib/libhalyard_runtime.a"), "-Wl,--no-whole-archive", "-static-libstdc++", "-static-libgcc", "-lpthread", "-ldl",
                    "-lm"], check=True)
    for made in (archive, *(os.path.join(folder, name + end) for end in (".h", ".lua"))):
        os.remove(made)


def inputs_of(report, sizes, seed, words):
    """Random ones: whole numbers are words, and a mask ends behind some tokens of each row."""
    rng, made = np.random.default_rng(seed), {}
    for i in report["inputs"]:
        shape = [int(sizes.get(d, d)) for d in i["shape"]]
        if "mask" in i["name"]:
            x = np.arange(shape[-1]) < rng.integers(1, shape[-1] + 1, [*shape[:-1], 1])
        elif i["type"].startswith("float"):
            x = rng.standard_normal(shape)
        else:
            x = rng.integers(0, words, shape) if i["name"] != "sr" else np.full(shape, 16000)
        made[i["name"]] = x.astype(i["type"])
    return made


def main():
    import onnxruntime
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--models", required=True)
    p.add_argument("--devices", default="sm_90a")
    p.add_argument("--words", type=int, default=1000, help="words below this one are drawn")
    p.add_argument("--only", default="", help="models whose name has one of these, with commas")
    p.add_argument("folder")
    o = p.parse_args()
    os.makedirs(o.folder, exist_ok=True)
    with open(os.path.join(ROOT, "scripts/peers/models/cases.json"), encoding="utf-8") as f:
        cases = [c for c in json.load(f) if any(n in c["name"] for n in o.only.split(",")) and os.path.exists(os.path.join(o.models, c["file"]))]
    if not cases:
        sys.exit(f"error: {o.models} has none of the models of scripts/peers/models/cases.json")
    models = []
    for c in cases:
        path, base = os.path.join(o.models, c["file"]), "".join(ch for ch in c["name"].lower() if ch.isalnum())
        shapes, arrays = [*c["shapes"], *ODD.get(c["name"], [])], {}
        for kind in ("", *(["bfloat16"] if c["name"] in HALVES else [])):
            name = base + ("_" + kind if kind else "")
            compiled(path, o.folder, name, o.devices, kind)
            models.append({"name": name, "cases": shapes, "arrays": base})
            print(f"{name}: {len(shapes)} sizes", flush=True)
        with open(os.path.join(o.folder, f"{base}.json"), encoding="utf-8") as f:
            report = json.load(f)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        for i, sizes in enumerate(shapes):
            feed = inputs_of(report, sizes, i, o.words)
            wanted = session.run(None, dict(zip([v.name for v in session.get_inputs()], feed.values())))
            arrays.update({f"{i}_in{n}": x for n, x in enumerate(feed.values())})
            arrays.update({f"{i}_out{n}": x for n, x in enumerate(wanted)})
        np.savez_compressed(os.path.join(o.folder, f"{base}.npz"), **arrays)
    with open(os.path.join(o.folder, "models.json"), "w", encoding="utf-8") as f:
        json.dump(models, f, indent=1)
    for name in os.listdir(o.folder):
        if name.endswith((".weights", ".so")):
            path = os.path.join(o.folder, name)
            with open(path, "rb") as f, lzma.open(path + ".xz", "wb", preset=6) as out:
                out.write(f.read())
            os.remove(path)
    here = os.path.dirname(os.path.abspath(__file__))
    os.makedirs(os.path.join(o.folder, "gpu"), exist_ok=True)
    for name in ("__init__.py", "models.py"):
        shutil.copy(os.path.join(here, name), os.path.join(o.folder, "gpu"))


if __name__ == "__main__":
    main()

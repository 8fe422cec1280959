"""The library against a decoder in numpy: logits of prompts and of generation, and the tokens that follow.

usage: reference_test.py LOGITS_PROGRAM FOLDER [REAL_MODEL]
       reference_test.py --gpu LOGITS_PROGRAM FOLDER [REAL_MODEL]"""

import pathlib
import subprocess
import sys

try:
    import numpy as np
    from reference import Reference
    from tiny import MODELS, write_tiny
except ImportError:
    print("numpy is not installed: scripts/setup brings it for Python 3.11")
    sys.exit(77)

# Of the largest logit: sums of f32, in any order, over some hundred elements in each of some ten products.
EPSILONS = 64
# Of the norm of all logits, where rows are rounded to 8 bits: each product is off by 3e-3 to 4e-3 of its norm.
INT8_ERROR = 0.05
TOKENS = 24
PROMPTS = 20


# Of the norm of all logits, where keys and values are rounded: an epsilon of their type is 0.0005, 0.004, and 0.004 of a head's largest.
CACHES = {"f32": None, "f16": 0.0015, "bf16": 0.012, "int8": 0.04}


# The same on a GPU, where many rows are multiplied as TF32, with 10 bits, and queries of prompts are f16 too.
GPU_TOKENS = 10
OTHERWISE_ON_GPU = ("llama", "qwen3", "gemma3")  # with weights in bf16, and with caches of other types
GPU_ERROR = {1: 0.0015, 7: 0.002, GPU_TOKENS: 0.004}


# Of the norm of all logits, where weights are made bf16: a few of those of 4 to 8 bits are so near to the middle of two that f32 and float64 round them apart.
BF16_ERROR = 0.0001


def check(program, path, reference, count, first, seed):
    good = check_exact(program, path, reference, count, first, count, seed)
    if first not in (1, count):  # the tokens at once go by panels, the others by dot products
        good &= check_rounded(program, path, reference, count, first, seed, "int8", "f32", INT8_ERROR)
        good &= check_rounded(program, path, reference, count, first, seed, "f32", "f32", EPSILONS * np.finfo(np.float32).eps)
        good &= check_rounded(program, path, reference.of_bf16(), count, first, seed, "bf16", "f32", BF16_ERROR)
        for cache, bound in CACHES.items():
            good &= bound is None or check_rounded(program, path, reference, count, first, seed, "exact", cache, bound)
    return good


def check_on_gpu(program, path, reference):
    good = True
    for first, bound in GPU_ERROR.items():
        good &= check_rounded(program, path, reference, GPU_TOKENS, first, first, "exact", "f16", bound)
        if first in (1, GPU_TOKENS) or path.stem not in OTHERWISE_ON_GPU:
            continue
        good &= check_rounded(program, path, reference.of_bf16(), GPU_TOKENS, first, first, "bf16", "f16", bound)
        for cache in ("bf16", "int8"):
            good &= check_rounded(program, path, reference, GPU_TOKENS, first, first, "exact", cache, bound + CACHES[cache])
    # Tokens are drawn there, too.
    tokens, got = run(program, "exact", "f16", path, reference, GPU_TOKENS, GPU_TOKENS, 3, 1)
    return good and tokens[GPU_TOKENS:] == [int(t) for t in got.argmax(axis=-1)[:3]]


def norm_alone(part):
    def change(keys, tensors):
        del tensors[f"blk.1.attn_{part}_norm.weight"]
    return change


def norm_of_neighbours(keys, tensors):
    keys["general.architecture"] = "llama"
    keys |= {key.replace("qwen3.", "llama."): value for key, value in keys.items()}


def refused_on_gpu(program, folder):
    """Norms of heads that no kernel of a GPU computes are an error, and not left out."""
    good = True
    for change, why in ((norm_alone("q"), "norms its keys alone"), (norm_alone("k"), "norms its queries alone"),
                        (norm_of_neighbours, "turns pairs of neighbours")):
        path = folder / "refused.gguf"
        write_tiny(path, "qwen3", change=change)
        done = subprocess.run([program, "exact", "1", str(path), "1", "0", "1"], capture_output=True, text=True, check=False)
        print(f"refused: {done.stderr.strip()}")
        good &= done.returncode == 1 and why in done.stderr
    return good


def run(program, kind, cache, path, reference, count, first, more, seed):
    """Tokens that were fed, and the logits behind them."""
    vocabulary = reference.tensors["token_embd.weight"].shape[0]
    prompt = [int(t) for t in np.random.default_rng(seed).integers(0, vocabulary, count)]
    done = subprocess.run([program, kind, str(list(CACHES).index(cache)), str(path), str(first), str(more), *map(str, prompt)], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{path}: {done.stderr.decode()}")
    tokens = prompt + [int(t) for t in done.stderr.split()]
    return tokens, np.frombuffer(done.stdout, np.float32).reshape(-1, vocabulary)


def check_rounded(program, path, reference, count, first, seed, kind, cache, bound):
    tokens, got = run(program, kind, cache, path, reference, count, first, count, seed)
    want = reference.logits(tokens)[first - 1:]
    error = np.linalg.norm(got - want) / np.linalg.norm(want)
    print(f"{path.name}: {kind}, cache {cache}: {error:.5f} of the norm")
    return error <= bound


def check_exact(program, path, reference, count, first, more, seed):
    tokens, got = run(program, "exact", "f32", path, reference, count, first, more, seed)
    want = reference.logits(tokens)
    error = np.abs(got - want[first - 1:]).max() / np.abs(want).max() / np.finfo(np.float32).eps
    greedy = want.argmax(axis=-1)[count - 1:-1]
    same = int((greedy == tokens[count:]).sum())
    # Where the two largest logits are nearer to each other than the bound, either is right.
    two = np.sort(want, axis=-1)[count - 1:-1, -2:]
    unclear = int(((two[:, 1] - two[:, 0]) < 2 * EPSILONS * np.finfo(np.float32).eps * np.abs(want).max()).sum())
    print(f"{path.name}: {first} of {count} tokens at once: {error:.1f} epsilons of the largest logit, "
          f"{same} of {len(greedy)} tokens the same")
    return error <= EPSILONS and same + unclear >= len(greedy)


def main():
    arguments = sys.argv[1:]
    gpu = arguments[0] == "--gpu"
    program, folder = arguments[gpu], pathlib.Path(arguments[gpu + 1])
    folder.mkdir(parents=True, exist_ok=True)
    good = refused_on_gpu(program, folder) if gpu else True
    for name in MODELS:
        path = folder / f"{name}.gguf"
        write_tiny(path, name)
        reference = Reference(path)
        if gpu:
            good &= check_on_gpu(program, path, reference)
            continue
        for first in (1, 7, TOKENS):
            good &= check(program, path, reference, TOKENS, first, first)
    real = pathlib.Path(arguments[gpu + 2]) if len(arguments) > gpu + 2 else None
    if real and real.exists():
        reference = Reference(real)
        if gpu:
            sys.exit(0 if check_on_gpu(program, real, reference) and good else 1)
        good &= check(program, real, reference, 10, 8, 1)
        good &= check_exact(program, real, reference, 12, 12, 128, 2)
        for seed in range(PROMPTS):
            good &= check_exact(program, real, reference, 5, 4, 1, 100 + seed)
    sys.exit(0 if good else 1)


main()

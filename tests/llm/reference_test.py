"""The library against a decoder in numpy: logits of prompts and of generation, and the tokens that follow.

usage: reference_test.py LOGITS_PROGRAM FOLDER [REAL_MODEL]"""

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


def check(program, path, count, first, seed):
    reference = Reference(path)
    exact = check_exact(program, path, reference, count, first, seed)
    # The tokens at once go by panels, the others by dot products.
    return (first in (1, count) or check_int8(program, path, reference, count, first, seed)) and exact


def run(program, kind, path, reference, count, first, seed):
    """Tokens that were fed, and the logits behind them."""
    vocabulary = reference.tensors["token_embd.weight"].shape[0]
    prompt = [int(t) for t in np.random.default_rng(seed).integers(0, vocabulary, count)]
    done = subprocess.run([program, kind, str(path), str(first), *map(str, prompt)], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{path}: {done.stderr.decode()}")
    tokens = prompt + [int(t) for t in done.stderr.split()]
    return tokens, np.frombuffer(done.stdout, np.float32).reshape(-1, vocabulary)


def check_int8(program, path, reference, count, first, seed):
    tokens, got = run(program, "int8", path, reference, count, first, seed)
    want = reference.logits(tokens)[first - 1:]
    error = np.linalg.norm(got - want) / np.linalg.norm(want)
    print(f"{path.name}: rows in 8 bits: {error:.4f} of the norm")
    return error <= INT8_ERROR


def check_exact(program, path, reference, count, first, seed):
    tokens, got = run(program, "exact", path, reference, count, first, seed)
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
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    good = True
    for name in MODELS:
        path = folder / f"{name}.gguf"
        write_tiny(path, name)
        for first in (1, 7, TOKENS):
            good &= check(program, path, TOKENS, first, first)
    if len(sys.argv) > 3 and pathlib.Path(sys.argv[3]).exists():
        good &= check(program, pathlib.Path(sys.argv[3]), 10, 8, 1)
    sys.exit(0 if good else 1)


main()

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
TOKENS = 24


def check(program, path, count, first, seed):
    reference = Reference(path)
    vocabulary = reference.tensors["token_embd.weight"].shape[0]
    prompt = [int(t) for t in np.random.default_rng(seed).integers(0, vocabulary, count)]
    run = subprocess.run([program, str(path), str(first), *map(str, prompt)], capture_output=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{path}: {run.stderr.decode()}")
    tokens = prompt + [int(t) for t in run.stderr.split()]
    got = np.frombuffer(run.stdout, np.float32).reshape(-1, vocabulary)
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
        good &= check(program, pathlib.Path(sys.argv[3]), 16, 12, 1)
    sys.exit(0 if good else 1)


main()

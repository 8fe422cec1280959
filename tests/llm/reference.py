"""A decoder in numpy, in float64, from a GGUF file: the formulas of the papers, one after the other."""

import copy

import numpy as np
from gguf_file import read


class Reference:
    def __init__(self, path):
        self.keys, self.tensors = read(path)
        self.arch = self.keys["general.architecture"].decode()

    def of_bf16(self):
        """The same with matrices that are rounded to bf16; embeddings stay as they are."""
        other = copy.copy(self)
        other.tensors = dict(self.tensors)
        other.tensors.setdefault("output.weight", self.tensors["token_embd.weight"])
        for name, values in other.tensors.items():
            if values.ndim == 2 and name != "token_embd.weight":
                bits = values.astype("<f4").view("<u4")
                rounded = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000
                other.tensors[name] = rounded.astype("<u4").view("<f4").astype(float)
        return other

    def key(self, name, otherwise=None):
        return self.keys.get(f"{self.arch}.{name}", otherwise)

    def norm(self, x, weight):
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.key("attention.layer_norm_rms_epsilon")) * weight

    def rope(self, x, local):
        """x: tokens, heads, width."""
        width = self.key("rope.dimension_count", x.shape[-1])
        base = 10000.0 if local else self.key("rope.freq_base", 10000.0)
        frequencies = base ** (-2 * np.arange(width // 2) / width)
        if not local:
            if self.key("rope.scaling.type", b"none") == b"linear":
                frequencies = frequencies / self.key("rope.scaling.factor")
            frequencies = frequencies / self.tensors.get("rope_freqs.weight", 1.0)
        angles = np.arange(len(x))[:, None, None] * frequencies
        if self.arch in ("llama", "mistral"):
            a, b = x[..., 0:width:2], x[..., 1:width:2]
        else:
            a, b = x[..., :width // 2], x[..., width // 2:width]
        turned = a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)
        y = x.copy()
        if self.arch in ("llama", "mistral"):
            y[..., 0:width:2], y[..., 1:width:2] = turned
        else:
            y[..., :width // 2], y[..., width // 2:width] = turned
        return y

    def attention(self, x, block, index):
        heads, key_heads = self.key("attention.head_count"), self.key("attention.head_count_kv")
        width = self.key("attention.key_length", self.key("embedding_length") // heads)
        every = 6 if self.arch == "gemma3" else 0
        local = self.key("attention.sliding_window", 0) > 0 and (every == 0 or (index + 1) % every != 0)

        def heads_of(name, count):
            y = x @ block[f"attn_{name}.weight"].T + block.get(f"attn_{name}.bias", 0.0)
            y = y.reshape(len(x), count, width)
            norm = block.get(f"attn_{name}_norm.weight")
            return y if norm is None else self.norm(y, norm)

        of_gemma_local = local and every > 0
        q, k = self.rope(heads_of("q", heads), of_gemma_local), self.rope(heads_of("k", key_heads), of_gemma_local)
        v = heads_of("v", key_heads)
        scores = np.einsum("qhd,khd->hqk", q, np.repeat(k, heads // key_heads, axis=1)) / np.sqrt(width)
        back = np.arange(len(x))[:, None] - np.arange(len(x))[None, :]
        seen = back >= 0
        if local:
            seen &= back < self.key("attention.sliding_window")
        scores = np.where(seen, scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        y = np.einsum("hqk,khd->qhd", weights, np.repeat(v, heads // key_heads, axis=1))
        return y.reshape(len(x), heads * width) @ block["attn_output.weight"].T

    def logits(self, tokens):
        gemma = self.arch.startswith("gemma")
        words = self.tensors["token_embd.weight"]
        x = words[tokens]
        if gemma:
            x = x * np.float32(np.sqrt(np.float32(words.shape[1])))
        for index in range(self.key("block_count")):
            prefix = f"blk.{index}."
            block = {name[len(prefix):]: t for name, t in self.tensors.items() if name.startswith(prefix)}
            y = self.attention(self.norm(x, block["attn_norm.weight"]), block, index)
            after = block.get("post_attention_norm.weight")
            x = x + (y if after is None else self.norm(y, after))
            h = self.norm(x, block["ffn_norm.weight"])
            gate = h @ block["ffn_gate.weight"].T
            if gemma:
                gate = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate ** 3)))
            else:
                gate = gate / (1 + np.exp(-gate))
            y = (gate * (h @ block["ffn_up.weight"].T)) @ block["ffn_down.weight"].T
            after = block.get("post_ffw_norm.weight")
            x = x + (y if after is None else self.norm(y, after))
        head = self.tensors.get("output.weight", words)
        logits = self.norm(x, self.tensors["output_norm.weight"]) @ head.T
        cap = self.key("final_logit_softcapping", 0)
        return cap * np.tanh(logits / cap) if cap else logits

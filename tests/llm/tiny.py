"""Models of a few hundred kilobytes with the structure of real ones, and weights at random."""

import numpy as np
from gguf_file import random_blocks, write


def byte_points():
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    points, more = {}, 256
    for b in range(256):
        if b in seen:
            points[b] = chr(b)
        else:
            points[b], more = chr(more), more + 1
    return points


CHATML = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
          "{{ '<|im_start|>system\nYou are tiny<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role']}}{% endfor %}")


def bpe_keys():
    """A vocabulary of special tokens, bytes, and the merges of some words."""
    points = byte_points()
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    kinds = [3, 3, 3]
    tokens += points.values()
    merges = []
    for word in (" the", " a", "the", "in", "er", " you", "you", "us", "user", "ing", "1", "2"):
        symbols = [points[b] for b in word.encode()]
        while len(symbols) > 1:
            if f"{symbols[0]} {symbols[1]}" not in merges:
                merges.append(f"{symbols[0]} {symbols[1]}")
            symbols[:2] = [symbols[0] + symbols[1]]
            if symbols[0] not in tokens:
                tokens.append(symbols[0])
    kinds += [1] * (len(tokens) - len(kinds))
    return {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": kinds, "tokenizer.ggml.merges": merges, "tokenizer.ggml.bos_token_id": 1,
            "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.add_bos_token": False, "tokenizer.chat_template": CHATML}


def scored_keys():
    """The other kind: pieces with scores, and bytes for what has no piece."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256))]
    kinds = [2, 3, 3, *[6] * 256]
    pieces = ["\u2581", "a", "e", "h", "t", "\u2581t", "he", "\u2581the", "\u2581a", "at", "\u2581tea"]
    tokens += pieces
    kinds += [1] * len(pieces)
    scores = [0.0] * 259 + [-10.0, -11.0, -12.0, -13.0, -14.0, -3.0, -2.0, -1.0, -4.0, -5.0, -20.0]
    return {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": kinds,
            "tokenizer.ggml.scores": scores, "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2}


# Name: architecture, sizes, types of the embeddings, of the other matrices in turn, and of the head or None.
MODELS = {
    "llama": ("llama", {"layers": 2, "width": 96, "inner": 160, "heads": 6, "key_heads": 2}, "Q8_0", ["Q4_1"], None),
    "llama3": ("llama", {"layers": 2, "width": 64, "inner": 96, "heads": 4, "key_heads": 4}, "F16", ["Q4_0", "Q8_0"], "Q4_0"),
    "qwen2": ("qwen2", {"layers": 2, "width": 64, "inner": 96, "heads": 4, "key_heads": 1, "head_width": 64}, "Q4_0", ["Q8_0", "F32"], "Q8_0"),
    "qwen3": ("qwen3", {"layers": 2, "width": 64, "inner": 64, "heads": 4, "key_heads": 2, "head_width": 64}, "BF16", ["BF16", "F16"], None),
    "odd": ("llama", {"layers": 1, "width": 72, "inner": 88, "heads": 2, "key_heads": 1}, "F16", ["F16", "F32", "BF16"], None),
    "gemma3": ("gemma3", {"layers": 7, "width": 64, "inner": 64, "heads": 2, "key_heads": 1, "head_width": 48, "window": 9}, "Q5_0",
               ["Q5_1", "Q4_1"], None),
    "k_quants": ("llama", {"layers": 1, "width": 256, "inner": 256, "heads": 2, "key_heads": 1}, "Q6_K", ["Q4_K", "Q5_K", "Q6_K"], None),
}


def write_tiny(path, name, seed=1, change=None):
    """`change(keys, tensors)` makes another file of it."""
    arch, sizes, words, kinds, head = MODELS[name]
    rng = np.random.default_rng(seed)
    keys = {"general.architecture": arch, "general.alignment": 32, **(scored_keys() if arch == "gemma3" else bpe_keys())}
    width, heads, key_heads, inner = (sizes[s] for s in ("width", "heads", "key_heads", "inner"))
    head_width = sizes.get("head_width", width // heads)
    vocabulary = len(keys["tokenizer.ggml.tokens"])
    keys |= {f"{arch}.{k}": v for k, v in {
        "block_count": sizes["layers"], "context_length": 256, "embedding_length": width, "feed_forward_length": inner,
        "attention.head_count": heads, "attention.head_count_kv": key_heads, "rope.freq_base": 50000.0,
        "attention.layer_norm_rms_epsilon": 1e-5}.items()}
    if "head_width" in sizes:
        keys |= {f"{arch}.attention.key_length": head_width, f"{arch}.attention.value_length": head_width}
    if "window" in sizes:
        keys[f"{arch}.attention.sliding_window"] = sizes["window"]
    tensors = {}
    turn = 0

    def matrix(tensor, k, n, kind=None):
        nonlocal turn
        if kind is None:
            kind, turn = kinds[turn % len(kinds)], turn + 1
        tensors[tensor] = (kind, [k, n], random_blocks(rng, kind, n, k, 1.5 / np.sqrt(k)))

    def vector(tensor, n, about):
        tensors[tensor] = ("F32", [n], (about + 0.2 * rng.standard_normal(n)).astype("<f4").tobytes())

    matrix("token_embd.weight", width, vocabulary, words)
    for i in range(sizes["layers"]):
        at = f"blk.{i}."
        vector(at + "attn_norm.weight", width, 1)
        for part, n in (("q", heads), ("k", key_heads), ("v", key_heads)):
            matrix(f"{at}attn_{part}.weight", width, n * head_width)
            if arch == "qwen2":
                vector(f"{at}attn_{part}.bias", n * head_width, 0)
            if arch in ("qwen3", "gemma3") and part != "v":
                vector(f"{at}attn_{part}_norm.weight", head_width, 1)
        matrix(at + "attn_output.weight", heads * head_width, width)
        vector(at + "ffn_norm.weight", width, 1)
        if arch == "gemma3":
            vector(at + "post_attention_norm.weight", width, 1)
            vector(at + "post_ffw_norm.weight", width, 1)
        matrix(at + "ffn_gate.weight", width, inner)
        matrix(at + "ffn_up.weight", width, inner)
        matrix(at + "ffn_down.weight", inner, width)
    vector("output_norm.weight", width, 1)
    if head:
        matrix("output.weight", width, vocabulary, head)
    if name == "llama3":
        tensors["rope_freqs.weight"] = ("F32", [head_width // 2], (1 + rng.random(head_width // 2)).astype("<f4").tobytes())
        keys |= {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 2.0}
    if name == "gemma3":
        keys[f"{arch}.final_logit_softcapping"] = 20.0
    if change:
        change(keys, tensors)
    write(path, keys, tensors)

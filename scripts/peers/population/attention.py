"""Cases of attention: whole sequences, and a few queries over a cache."""

from .architectures import DECODERS, TRANSFORMERS
from .numbers import log_spread, rounded
from .products import TYPES

LONGEST = {"host": 4096, "cuda": 32768}


def attention(n, u, target):
    model = n.pick(TRANSFORMERS)
    causal, params, dims = model.kind == "language", {}, {}
    length = n.pick(model.lengths) if model.lengths else rounded(n, log_spread(u, 16, LONGEST[target] if causal else 512), 8)
    batch = rounded(n, log_spread(u if model.lengths else n.uniform(), 1, 64))
    keys = length
    if model.keys and n.chance(0.5):
        keys = model.keys
    elif causal and n.chance(0.2):  # a chunk of a prompt behind those before it
        keys = length + rounded(n, log_spread(n.uniform(), 16, LONGEST[target]))
    if causal:
        params["causal"] = "true"
        if model.window and model.window < keys and n.chance(0.5):
            params["windowed"], dims["window"] = "true", model.window
        elif model.alibi:
            params["alibi"] = "true"
    elif model.kind == "encoder" and not model.lengths and n.chance(0.6):
        params["padded"] = "true"
    layout = n.pick({"heads first": 0.4, "tokens first": 0.4, "fused": 0.2})
    return dict(op="attention", dims=dict(d=model.head_dim, queries=length, keys=keys, heads=model.heads, key_heads=model.key_heads, batch=batch, **dims),
                type=n.pick(TYPES[target]), params=params, model=model.name, use="cross attention" if keys == model.keys and keys else "attention",
                layout="tokens first" if layout == "fused" and keys != length else layout, shrinks=("batch", "queries", "keys"))


def decode_attention(n, u, target):
    model = n.pick(DECODERS)
    keys = rounded(n, log_spread(u, 16, 131072 if target == "cuda" else 32768))
    queries = n.pick({1: 0.8, 2: 0.05, 4: 0.1, 8: 0.05})  # several where tokens are guessed ahead
    return dict(op="decode_attention", dims=dict(d=model.head_dim, queries=queries, keys=keys, heads=model.heads, key_heads=model.key_heads,
                                                 batch=rounded(n, log_spread(n.uniform(), 1, 256))),
                type=n.pick(TYPES[target]), params={"padded": n.pick(["true", "false"])}, model=model.name, use="decode",
                layout=n.pick(["heads first", "tokens first"]), shrinks=("batch", "keys"))


OPS = {f.__name__: f for f in (attention, decode_attention)}

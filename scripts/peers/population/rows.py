"""Cases of the ops on rows: norms, softmax, losses, chains of elementwise steps, transposition."""

from .architectures import TRANSFORMERS, WITH_WORDS
from .numbers import log_spread, rounded

ROW_TYPES = {"host": {"float32": 0.5, "bfloat16": 0.35, "float16": 0.15}, "cuda": {"bfloat16": 0.6, "float16": 0.15, "float32": 0.25}}
MOST_TOKENS = {"host": 16384, "cuda": 131072}


def tokens(n, u, target, model):
    """How many tokens are there at once, and what the model does: its sequences in batches, or text of any length."""
    if model.lengths:
        length = n.pick(model.lengths)
        most = max(1, min(256, MOST_TOKENS[target] * 2 // length))
        return length * rounded(n, log_spread(u, 1, most)), "batch"
    if model.kind == "language" and u < 0.35:
        return rounded(n, log_spread(u / 0.35, 1, 256)), "decode"
    first = 0.35 if model.kind == "language" else 0.0
    return rounded(n, log_spread((u - first) / (1 - first), 16, MOST_TOKENS[target])), "prefill"


def gap(n, cols):
    """Elements between rows: none, those of a fused neighbour, some padding, or an odd number."""
    return {"none": 0, "fused": cols, "padded": 64, "odd": 3}[n.pick({"none": 0.78, "fused": 0.09, "padded": 0.08, "odd": 0.05})]


def of_model(op, n, u, target, model, cols, **params):
    rows, use = tokens(n, u, target, model)
    return dict(op=op, dims=dict(rows=rows, cols=cols), type=n.pick(ROW_TYPES[target]), params=params, model=model.name, use=use,
                gap=gap(n, cols), shrinks=("rows",))


def rms_norm(n, u, target):
    model = n.pick([a for a in TRANSFORMERS if a.norm == "rms"])
    if n.chance(0.25):  # of the heads of q, as Qwen3 and Gemma 3 have it
        case = of_model("rms_norm", n, u, target, model, model.head_dim)
        case["dims"]["rows"] *= model.heads
        return {**case, "use": case["use"] + ", heads of q"}
    return of_model("rms_norm", n, u, target, model, model.hidden, **({"add_residual": "true"} if n.chance(0.5) else {}))


def layer_norm(n, u, target):
    model = n.pick([a for a in TRANSFORMERS if a.norm == "layer"])
    return of_model("layer_norm", n, u, target, model, model.hidden, **({"add_residual": "true"} if n.chance(0.4) else {}))


def softmax(n, u, target):
    what = n.pick({"scores": 0.6, "words": 0.25, "experts": 0.15})
    if what == "words":
        model = n.pick(WITH_WORDS)
        params = {"log": "true"} if n.chance(0.5) else {}
        rows, cols, use = rounded(n, log_spread(u, 1, 2048)), model.vocab, "words"
    elif what == "experts":
        model = n.pick([a for a in TRANSFORMERS if a.experts])
        rows, use = tokens(n, u, target, model)
        return dict(op="softmax", dims=dict(rows=rows, cols=model.experts), type="float32", params={}, model=model.name, use=use + ", experts",
                    shrinks=("rows",))
    else:
        model = n.pick(TRANSFORMERS)
        length = n.pick(model.lengths) if model.lengths else rounded(n, log_spread(n.uniform(), 32, 8192), 8)
        causal = model.kind == "language" and n.chance(0.5)
        params = {"causal": "true"} if causal else n.pick([{}, {"scaled": "true", "masked": "true"}])
        cols, use = length, "scores"
        rows = length if causal else model.heads * length * rounded(n, log_spread(u, 1, 64))
    return dict(op="softmax", dims=dict(rows=rows, cols=cols), type=n.pick(ROW_TYPES[target]), params=params, model=model.name, use=use,
                gap=gap(n, cols), shrinks=("cols", "rows") if params.get("causal") else ("rows",))


def cross_entropy(n, u, target):
    model = n.pick(WITH_WORDS)
    return dict(op="cross_entropy", dims=dict(rows=rounded(n, log_spread(u, 1, 16384)), cols=model.vocab), type=n.pick(ROW_TYPES[target]),
                params={}, model=model.name, use="loss", gap=gap(n, model.vocab), shrinks=("rows",))


def bias_activation(n, u, target):
    model = n.pick(TRANSFORMERS)
    params = {"activation": "silu" if model.gated and model.activation == "silu" else n.pick(["gelu_tanh", "gelu_erf", "relu"])}
    if n.chance(0.3):
        params["add_residual"] = "true"
    return of_model("bias_activation", n, u, target, model, n.pick([model.hidden, model.ffn]), **params)


def transpose(n, u, target):
    model = n.pick(TRANSFORMERS)
    length = n.pick(model.lengths) if model.lengths else rounded(n, log_spread(n.uniform(), 32, 8192), 8)
    what = n.pick(["tokens and features", "heads", "weights"])
    if what == "heads":
        batch, rows, cols = rounded(n, log_spread(u, 1, 64)) * model.heads, length, model.head_dim
    elif what == "weights":
        batch, rows, cols = 1, n.pick([model.hidden, model.ffn]), model.hidden
    else:
        batch, rows, cols = rounded(n, log_spread(u, 1, 256)), length, model.hidden
    return dict(op="transpose", dims=dict(rows=rows, cols=cols, batch=batch), type=n.pick(ROW_TYPES[target]), params={}, model=model.name, use=what,
                shrinks=("batch", "rows"))


OPS = {f.__name__: f for f in (rms_norm, layer_norm, softmax, cross_entropy, bias_activation, transpose)}

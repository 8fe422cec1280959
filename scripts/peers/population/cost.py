"""What a case must move and compute at least: bytes with each operand once, and operations."""

from math import prod

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
INT8 = ("gemm_int8", "swiglu_int8", "qkv_projection_int8", "swiglu_mlp_int8", "conv2d_int8", "depthwise_conv2d_int8")


def output_size(d, params):
    """Rows and columns of a convolution's result."""
    kernel, stride, padding = (int(params.get(n, v)) for n, v in (("kernel", 3), ("stride", 1), ("padding", 1)))
    return (d["h"] + 2 * padding - kernel) // stride + 1, (d["w"] + 2 * padding - kernel) // stride + 1


def seen_keys(d, params):
    """Pairs of a query and a key that count, for a head."""
    queries, keys = d["queries"], d["keys"]
    if params.get("padded") == "true":
        return queries * keys // 2  # lengths go evenly from none to all
    if params.get("windowed") == "true":
        window = min(d["window"], keys)
        return queries * window if params.get("causal") == "true" else queries * min(2 * window + 1, keys)
    if params.get("causal") == "true" and keys >= queries:
        return queries * (keys - queries) + queries * (queries + 1) // 2
    return queries * keys


def flops(case):
    d, p = case.dims, case.params
    of_op = {
        "rms_norm": lambda: 4 * d["rows"] * d["cols"], "layer_norm": lambda: 7 * d["rows"] * d["cols"],
        "softmax": lambda: 20 * d["rows"] * d["cols"], "cross_entropy": lambda: 20 * d["rows"] * d["cols"],
        "bias_activation": lambda: 4 * d["rows"] * d["cols"], "transpose": lambda: prod(d.values()),
        "batch_norm": lambda: 2 * prod(d.values()), "group_norm": lambda: 7 * d["w"] * d["h"] * d["c"] * d["n"],
        "attention": lambda: 4 * d["d"] * seen_keys(d, p) * d["heads"] * d["batch"],
        "decode_attention": lambda: 4 * d["d"] * seen_keys(d, p) * d["heads"] * d["batch"],
        "swiglu": lambda: 4 * prod(d.values()), "splade": lambda: 2 * prod(d.values()),
        "qkv_projection": lambda: 2 * d["m"] * d["depth"] * (d["n_q"] + 2 * d["n_kv"]),
        "swiglu_mlp": lambda: 2 * d["m"] * d["hidden"] * (2 * d["k"] + d["n"]),
        "conv2d": lambda: 2 * d["n"] * d["groups"] * d["o"] * d["c"] * int(p.get("kernel", 3)) ** 2 * prod(output_size(d, p)),
        "depthwise_conv2d": lambda: 2 * d["n"] * d["c"] * int(p.get("kernel", 3)) ** 2 * prod(output_size(d, p)),
    }
    name = case.op.removesuffix("_int8")
    return of_op[name]() if name in of_op else 2 * d["m"] * d["n"] * d["k"]


def elements(case):
    """(of operands, of weights, of results): in elements; what has only a number a column or row is left out."""
    d, p = case.dims, case.params
    name = case.op.removesuffix("_int8")
    residual = p.get("add_residual") == "true"
    if name in ("rms_norm", "layer_norm", "softmax", "bias_activation"):
        all_ = d["rows"] * d["cols"]
        more = residual or p.get("masked") == "true"
        return all_ * (1 + more), 0, all_ * (1 + (residual and "norm" in name))
    if name == "cross_entropy":
        return d["rows"] * d["cols"], 0, 0
    if name in ("batch_norm", "group_norm", "transpose"):
        all_ = prod(v for n, v in d.items() if n != "g")
        return all_, 0, all_
    if name in ("attention", "decode_attention"):
        q = d["d"] * d["queries"] * d["heads"] * d["batch"]
        more = d["queries"] * d["keys"] if p.get("masked") == "true" else 0
        cache = 2 * d["d"] * d["keys"] * d["key_heads"] * d["batch"]
        return q + (cache // 2 if p.get("padded") == "true" else cache) + more, 0, q
    if name == "conv2d":
        rows, cols = output_size(d, p)
        y = d["o"] * d["groups"] * rows * cols * d["n"]
        return d["c"] * d["groups"] * d["w"] * d["h"] * d["n"] + y * (p.get("add_residual", "none") != "none"), \
            d["groups"] * d["o"] * d["c"] * int(p.get("kernel", 3)) ** 2, y
    if name == "depthwise_conv2d":
        return prod(d.values()), d["c"] * int(p.get("kernel", 3)) ** 2, d["c"] * prod(output_size(d, p)) * d["n"]
    if name == "qkv_projection":
        n = d["n_q"] + 2 * d["n_kv"]
        return d["m"] * d["depth"], d["depth"] * n, d["m"] * n
    if name == "swiglu_mlp":
        return d["m"] * (d["k"] + d["n"] * (p.get("add_residual", "true") == "true")), d["hidden"] * (2 * d["k"] + d["n"]), d["m"] * d["n"]
    if name == "splade":
        return d["k"] * d["positions"] * d["batch"], d["k"] * d["vocab"], d["vocab"] * d["batch"]
    m, n, k = d["m"], d["n"], d["k"]
    result = {"gemm_reduce": m, "linear_cross_entropy": m, "gemm_top_k": m * int(p.get("top_k", 8)), "moe_router": m * int(p.get("top_k", 2))}
    return m * k + m * n * residual, n * k * (2 if name == "swiglu" else 1), result.get(name, m * n)


def bytes_(case):
    size, eight = BYTES[case.type], case.op in INT8
    operands, weights, results = elements(case)
    inner = 1 if eight and case.op != "swiglu_mlp_int8" else size
    result = size if case.params.get("output", "same") in ("same", "") else 1
    return operands * inner + weights * (1 if eight else size) + results * result


def working_bytes(case):
    """What a peer that does not fuse holds beside them."""
    d, size = case.dims, 4
    name = case.op.removesuffix("_int8")
    if name in ("gemm_reduce", "linear_cross_entropy", "gemm_top_k"):
        return d["m"] * d["n"] * size * 2
    if name == "splade":
        return d["positions"] * d["batch"] * d["vocab"] * size * 2
    if name == "cross_entropy":
        return d["rows"] * d["cols"] * size
    if case.params.get("alibi") == "true":
        return d["heads"] * d["queries"] * d["keys"] * 12  # its bias as a tensor, for several sets of arguments
    if case.params.get("windowed") == "true":
        return d["queries"] * d["keys"] * 6
    return 0

"""What each op computes, in torch: the tensors of a case, and the functions that peers call.

`meaning(case)` has the tensors by the names of the CUDA libraries' arguments, extents outermost first, with what fills them;
the results; the scalars; `function(v)`, the op itself, which is reference and peer at once; and further ways to compute it
(`more`), which may have something made ahead of the calls (`ahead`).
"""

import dataclasses
import math
import typing


@dataclasses.dataclass
class Meaning:
    tensors: dict                   # name -> (extents, what): see peers/gpu/sweep_inputs.py
    outputs: dict                   # name -> extents
    function: typing.Callable       # of a namespace of tensors and scalars: one result or a tuple
    scalars: dict = dataclasses.field(default_factory=dict)
    more: dict = dataclasses.field(default_factory=dict)    # name -> function
    ahead: typing.Callable = None   # of the namespace: {name: tensor}, computed before the calls, as packed weights
    over: str = "row"               # what the reference takes a part of: rows, or the outermost extent
    by_row: tuple = ()              # tensors that have that extent
    compiled: bool = True           # whether a compiler can do more than torch does


def functional():
    import torch.nn.functional
    return torch.nn.functional


def activate(y, name):
    f = functional()
    return {"none": lambda: y, "": lambda: y, "relu": lambda: f.relu(y), "silu": lambda: f.silu(y), "gelu_erf": lambda: f.gelu(y),
            "gelu_tanh": lambda: f.gelu(y, approximate="tanh")}[name]()


def on(params, name):
    return params.get(name) == "true"


# ---- rows ---------------------------------------------------------------------------------

def matrix(d, **more):
    return {"x": ((d["rows"], d["cols"]), "type"), **{n: ((d["cols"],) if what == "cols" else (d["rows"], d["cols"]), "type") for n, what in more.items()}}


def norm(case, bias):
    d, residual = case.dims, on(case.params, "add_residual")
    both = (d["rows"], d["cols"])

    def function(v):
        x = v.x + v.residual if residual else v.x
        y = functional().layer_norm(x, x.shape[-1:], v.weight, v.bias, v.eps) if bias else functional().rms_norm(x, x.shape[-1:], v.weight, v.eps)
        return (y, x) if residual else y
    return Meaning(matrix(d, **({"residual": "both"} if residual else {}), weight="cols", **({"bias": "cols"} if bias else {})),
                   {"y": both, **({"residual_out": both} if residual else {})}, function, {"eps": 1e-5 if bias else 1e-6}, by_row=("x", "residual"))


def softmax(case):
    d, p = case.dims, case.params

    def function(v):
        import torch
        x = v.x * v.scale if on(p, "scaled") else v.x
        x = x + v.mask if on(p, "masked") else x
        if on(p, "causal"):
            last = v.rows_at if hasattr(v, "rows_at") else torch.arange(d["rows"], device=x.device)
            x = x.masked_fill(torch.arange(d["cols"], device=x.device) > last[:, None] + (d["cols"] - d["rows"]), -math.inf)
        return x.log_softmax(-1) if on(p, "log") else x.softmax(-1)
    return Meaning(matrix(d, **({"mask": "both"} if on(p, "masked") else {})), {"y": (d["rows"], d["cols"])}, function,
                   {"scale": 0.125} if on(p, "scaled") else {}, by_row=("x", "mask"))


def cross_entropy(case):
    d = case.dims
    return Meaning({"logits": ((d["rows"], d["cols"]), "type"), "labels": ((d["rows"],), ("below", d["cols"]))}, {"loss": (d["rows"],)},
                   lambda v: functional().cross_entropy(v.logits.float() if v.logits.element_size() < 4 else v.logits, v.labels.long(), reduction="none"),
                   {"ignore_index": -100}, by_row=("logits", "labels"))


def bias_activation(case):
    d, p = case.dims, case.params
    residual = on(p, "add_residual")
    return Meaning(matrix(d, bias="cols", **({"residual": "both"} if residual else {})), {"y": (d["rows"], d["cols"])},
                   lambda v: activate(v.x + v.bias, p["activation"]) + (v.residual if residual else 0), by_row=("x", "residual"))


def transpose(case):
    d = case.dims
    return Meaning({"x": ((d["batch"], d["rows"], d["cols"]), "type")}, {"y": (d["batch"], d["cols"], d["rows"])},
                   lambda v: v.x.transpose(1, 2).contiguous(), by_row=("x",))


# ---- products -----------------------------------------------------------------------------

def linear(d, *names, n="n", k="k"):
    return {name: ((d[n], d[k]), "weights") for name in names}


def gemm(case):
    d, p = case.dims, case.params
    nk, bias, residual, act = p["weights"] == "nk", on(p, "add_bias"), on(p, "add_residual"), p.get("activation", "none")
    tensors = {"a": ((d["m"], d["k"]), "type"), **(linear(d, "b_nk") if nk else {"b": ((d["k"], d["n"]), "weights of kn")}),
               **({"bias": ((d["n"],), "type")} if bias else {}), **({"residual": ((d["m"], d["n"]), "type")} if residual else {})}

    def function(v):
        f = functional()
        y = f.linear(v.a, v.b_nk, v.bias if bias else None) if nk else v.a @ v.b
        if bias and not nk:
            y = y + v.bias
        y = activate(y, act)
        return y + v.residual if residual else y

    def added(v):  # bias in the product's epilogue, or the residual as what it adds to
        import torch
        b = v.b_nk.T if nk else v.b
        if residual and not bias and act == "none":
            return torch.addmm(v.residual, v.a, b)
        y = torch.addmm(v.bias, v.a, b)
        return y + v.residual if residual else y

    def epilogue(v):
        import torch
        y = torch._addmm_activation(v.bias, v.a, v.b_nk.T if nk else v.b, use_gelu=act != "relu")
        return y + v.residual if residual else y
    more = {}
    if act == "none" and (bias or residual):
        more["torch addmm"] = added
    if bias and act in ("relu", "gelu_tanh", "gelu_erf"):
        more["cuBLASLt epilogue"] = epilogue  # of GELU the tanh form, which serves for both
    return Meaning(tensors, {"y": (d["m"], d["n"])}, function, more=more, by_row=("a", "residual"), compiled=bias or residual)


def swiglu(case):
    d, act = case.dims, case.params.get("activation", "silu")

    def joined(v):
        gate, up = functional().linear(v.x, v.both).chunk(2, -1)
        return activate(gate, act) * up
    return Meaning({"x": ((d["m"], d["k"]), "type"), **linear(d, "w_gate_nk", "w_up_nk")}, {"y": (d["m"], d["n"])},
                   lambda v: activate(functional().linear(v.x, v.w_gate_nk), act) * functional().linear(v.x, v.w_up_nk),
                   more={"torch, joined": joined, "torch.compile, joined": joined}, ahead=lambda v: {"both": cat(v.w_gate_nk, v.w_up_nk)}, by_row=("x",))


def cat(*parts):
    import torch
    return torch.cat(parts)


def qkv_projection(case):
    d, bias = case.dims, on(case.params, "add_bias")
    m, sizes = d["m"], (d["n_q"], d["n_kv"], d["n_kv"])
    tensors = {"x": ((m, d["depth"]), "type"), **linear(d, "w_q_nk", n="n_q", k="depth"), **linear(d, "w_k_nk", "w_v_nk", n="n_kv", k="depth")}
    if bias:
        tensors.update(bias_q=((d["n_q"],), "type"), bias_k=((d["n_kv"],), "type"), bias_v=((d["n_kv"],), "type"))

    def function(v):
        return tuple(functional().linear(v.x, getattr(v, f"w_{n}_nk"), getattr(v, "bias_" + n) if bias else None) for n in "qkv")
    return Meaning(tensors, {"q": (m, sizes[0]), "k": (m, sizes[1]), "v": (m, sizes[2])}, function, by_row=("x",), compiled=False,
                   more={"torch, joined": lambda v: functional().linear(v.x, v.all_, v.all_bias if bias else None).split(sizes, -1)},
                   ahead=lambda v: {"all_": cat(v.w_q_nk, v.w_k_nk, v.w_v_nk), **({"all_bias": cat(v.bias_q, v.bias_k, v.bias_v)} if bias else {})})


def over_words(case, function, outputs, **more):
    d = case.dims
    labels = {"labels": ((d["m"],), ("below", d["n"]))} if case.op == "linear_cross_entropy" else {}
    scalars = {"columns": d["n"], **({"ignore_index": -100} if labels else {})}
    return Meaning({"x": ((d["m"], d["k"]), "type"), **linear(d, "w_nk"), **labels}, outputs, function, scalars, by_row=("x", "labels"), **more)


def wide(logits):
    return logits.float() if logits.element_size() < 4 else logits


def gemm_reduce(case):
    largest = case.params["reduction"] == "max"

    def function(v):
        logits = v.x @ v.w_nk.T
        return logits.amax(-1) if largest else wide(logits).logsumexp(-1)
    return over_words(case, function, {"y": (case.dims["m"],)})


def linear_cross_entropy(case):
    def function(v):
        logits = wide(v.x @ v.w_nk.T)
        return functional().cross_entropy(logits, v.labels.long(), reduction="none"), logits.logsumexp(-1)
    return over_words(case, function, {"loss": (case.dims["m"],), "lse": (case.dims["m"],)})


def gemm_top_k(case):
    k = int(case.params["top_k"])
    return over_words(case, lambda v: (v.x @ v.w_nk.T).topk(k).values, {"values": (case.dims["m"], k), "indices": (case.dims["m"], k)})


def moe_router(case):
    d, k = case.dims, int(case.params["top_k"])
    return Meaning({"x": ((d["m"], d["k"]), "type"), **linear(d, "w_nk")}, {"scores": (d["m"], k), "indices": (d["m"], k)},
                   lambda v: wide((v.x @ v.w_nk.T).topk(k).values).softmax(-1), {"experts": d["n"]}, by_row=("x",))


def splade(case):
    d = case.dims

    def counts(v):
        import torch
        return torch.arange(d["positions"], device=v.x.device) < v.lengths[:, None]

    def maxima_first(v):
        return ((v.x @ v.w_nk.T).masked_fill(~counts(v)[..., None], -math.inf).amax(1) + v.bias).relu().log1p()
    return Meaning({"x": ((d["batch"], d["positions"], d["k"]), "type"), **linear(d, "w_nk", n="vocab"), "bias": ((d["vocab"],), "type"),
                    "lengths": ((d["batch"],), ("lengths", d["positions"]))}, {"y": (d["batch"], d["vocab"])},
                   lambda v: (v.x @ v.w_nk.T + v.bias).relu().log1p().masked_fill(~counts(v)[..., None], 0).amax(1), {"positions": d["positions"]},
                   more={"torch, maxima first": maxima_first, "torch.compile, maxima first": maxima_first}, by_row=("x", "lengths"))


def rms_norm_gemm(case):
    d = case.dims
    return Meaning({"x": ((d["m"], d["k"]), "type"), **linear(d, "w_nk")}, {"y": (d["m"], d["n"])},
                   lambda v: functional().linear(functional().rms_norm(v.x, v.x.shape[-1:], None, v.eps), v.w_nk), {"eps": 1e-6}, by_row=("x",))


def swiglu_mlp(case):
    d = case.dims

    def block(v, gate, up):
        f = functional()
        return f.linear(f.silu(gate) * up, v.w_down_nk) + v.residual

    def function(v):
        f = functional()
        x = f.rms_norm(v.x, v.x.shape[-1:], None, v.eps)
        return block(v, f.linear(x, v.w_gate_nk), f.linear(x, v.w_up_nk))

    def joined(v):
        f = functional()
        return block(v, *f.linear(f.rms_norm(v.x, v.x.shape[-1:], None, v.eps), v.both).chunk(2, -1))
    return Meaning({"x": ((d["m"], d["k"]), "type"), **linear(d, "w_gate_nk", "w_up_nk", n="hidden"), **linear(d, "w_down_nk", n="n", k="hidden"),
                    "residual": ((d["m"], d["n"]), "type")}, {"y": (d["m"], d["n"])}, function, {"eps": 1e-6, "hidden": d["hidden"]},
                   more={"torch, joined": joined, "torch.compile, joined": joined}, ahead=lambda v: {"both": cat(v.w_gate_nk, v.w_up_nk)},
                   by_row=("x", "residual"))


# ---- products in 8 bits -------------------------------------------------------------------

def int8_weights(d, *names, n="n", k="k"):
    return {**{f"{name}_nk": ((d[n], d[k]), "int8") for name in names}, **{f"{name}_scale": ((d[n],), ("near", 1 / 74)) for name in names}}


def integers(x, w):
    """Sums of products of 8 bits, exact."""
    import torch
    if x.is_floating_point():
        return x @ w.T
    return torch._int_mm(x, w.T).float()


def halves(v, *names):
    """The weights as bfloat16, which has all integers of 8 bits, for what has no product of 8 bits."""
    import torch
    return {name + "_half": getattr(v, name).to(torch.bfloat16) for name in names}


def in_halves(x, w):
    import torch
    return (x.to(torch.bfloat16) @ w.T).float()


def quantised(case, result, weights, outputs, **more):
    """`result(v, product)`: the op by a product of x and the weights of that name."""
    names = [n for n in weights if n.endswith("_nk")]
    return Meaning(outputs=outputs, function=lambda v: result(v, lambda x, n: integers(x, getattr(v, n))),
                   more={name: lambda v: result(v, lambda x, n: in_halves(x, getattr(v, n + "_half")))
                         for name in ("torch, weights in bf16", "torch.compile, weights in bf16")},
                   ahead=lambda v: halves(v, *names), **more)


def back(y, v, kind):
    """To the type of results, unless it is the reference that is computed."""
    return y if v.reference else y.to(kind)


def dtype(case):
    import torch
    return getattr(torch, case.type)


def gemm_int8(case):
    d, p = case.dims, case.params
    weights = int8_weights(d, "b")

    def result(v, product):
        y = product(v.a, "b_nk") * v.a_scale_row[:, None] * v.b_scale + v.bias
        return back(activate(y, p.get("activation", "none")), v, dtype(case))
    return quantised(case, result, weights, {"y": (d["m"], d["n"])}, by_row=("a", "a_scale_row"),
                     tensors={"a": ((d["m"], d["k"]), "int8"), **weights, "a_scale_row": ((d["m"],), ("near", d["k"] ** -0.5 / 74)),
                              "bias": ((d["n"],), "float32")})


def of_rows(d, k):
    return {"x": ((d["m"], d[k]), "int8"), "x_scale_row": ((d["m"],), ("near", d[k] ** -0.5 / 74))}


def swiglu_int8(case):
    d, weights = case.dims, int8_weights(case.dims, "w_gate", "w_up")

    def result(v, product):
        rows = v.x_scale_row[:, None]
        return back(functional().silu(product(v.x, "w_gate_nk") * rows * v.w_gate_scale) * (product(v.x, "w_up_nk") * rows * v.w_up_scale), v, dtype(case))
    return quantised(case, result, weights, {"y": (d["m"], d["n"])}, tensors={**of_rows(d, "k"), **weights}, by_row=("x", "x_scale_row"))


def qkv_projection_int8(case):
    d = case.dims
    weights = {**int8_weights(d, "w_q", n="n_q", k="depth"), **int8_weights(d, "w_k", "w_v", n="n_kv", k="depth")}

    def result(v, product):
        return tuple(back(product(v.x, f"w_{n}_nk") * v.x_scale_row[:, None] * getattr(v, f"w_{n}_scale"), v, dtype(case)) for n in "qkv")
    return quantised(case, result, weights, {"q": (d["m"], d["n_q"]), "k": (d["m"], d["n_kv"]), "v": (d["m"], d["n_kv"])},
                     tensors={**of_rows(d, "depth"), **weights}, by_row=("x", "x_scale_row"))


def swiglu_mlp_int8(case):
    d = case.dims
    weights = {**int8_weights(d, "w_gate", "w_up", n="hidden"), **int8_weights(d, "w_down", n="n", k="hidden")}

    def result(v, product):
        import torch

        def rounded(x):
            scale = x.abs().amax(-1, keepdim=True) / 127
            q = (x / scale).round()
            return (q if v.reference else q.to(torch.int8)), scale
        x = wide(v.x)
        q, scale = rounded(x)
        scale = scale * (x.square().mean(-1, keepdim=True) + v.eps).rsqrt()
        h = functional().silu(product(q, "w_gate_nk") * scale * v.w_gate_scale) * (product(q, "w_up_nk") * v.w_up_scale)
        h, h_scale = rounded(h)
        return back(product(h, "w_down_nk") * h_scale * scale * v.w_down_scale + v.residual, v, dtype(case))
    return quantised(case, result, weights, {"y": (d["m"], d["n"])}, scalars={"eps": 1e-6, "hidden": d["hidden"]}, by_row=("x", "residual"),
                     tensors={"x": ((d["m"], d["k"]), "type"), **weights, "residual": ((d["m"], d["n"]), "type")})


# ---- attention ----------------------------------------------------------------------------

def attention(case):
    d, p = case.dims, case.params
    cache = (d["batch"], d["key_heads"], d["keys"], d["d"])
    tensors = {"q": ((d["batch"], d["heads"], d["queries"], d["d"]), "heads"), "k": (cache, "heads"), "v": (cache, "heads")}
    scalars = {"scale": d["d"] ** -0.5}
    causal, equal = on(p, "causal"), d["queries"] == d["keys"]
    if on(p, "padded"):
        tensors["lengths"] = ((d["batch"],), ("lengths", d["keys"]))
    if on(p, "alibi"):
        tensors["slopes"] = ((d["heads"],), "slopes")
    if on(p, "windowed"):
        scalars.update(window_left=d["window"] - 1, window_right=0)

    def visible(v, at, keys_at):
        """A mask of what the queries at these places see, or None; a bias where there is ALiBi."""
        seen = None
        if causal:
            seen = keys_at <= at[:, None]
        if on(p, "windowed"):
            seen = seen & (keys_at > at[:, None] - d["window"])
        return seen

    def masks(v):
        """Made ahead of the calls."""
        import torch
        made, device = {}, v.q.device
        keys_at = torch.arange(d["keys"], device=device)
        at = torch.arange(d["queries"], device=device) + d["keys"] - d["queries"]
        if on(p, "padded"):
            made["seen"] = (keys_at < v.lengths[:, None])[:, None, None]
        elif on(p, "alibi"):
            bias = -v.slopes[:, None, None] * (at[:, None] - keys_at).abs()
            made["seen"] = bias.masked_fill(~visible(v, at, keys_at), -math.inf)[None].to(v.q.dtype)
        elif causal and (not equal or on(p, "windowed")):
            made["seen"] = visible(v, at, keys_at)
        return made

    def by_backend(name):
        def call(v):
            from torch.nn.attention import SDPBackend, sdpa_kernel
            mask = getattr(v, "seen", None)
            lower_right = causal and not equal and not on(p, "windowed") and not on(p, "alibi") and name == "FLASH_ATTENTION"
            if lower_right:
                from torch.nn.attention.bias import causal_lower_right
                mask = causal_lower_right(d["queries"], d["keys"])
            with sdpa_kernel(getattr(SDPBackend, name)):
                return functional().scaled_dot_product_attention(v.q, v.k, v.v, attn_mask=mask, is_causal=causal and mask is None, scale=v.scale,
                                                                 enable_gqa=d["heads"] != d["key_heads"])
        return call

    def repeated(v):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        times, mask = d["heads"] // d["key_heads"], getattr(v, "seen", None)
        k, values = (x if times == 1 else x.repeat_interleave(times, 1) for x in (v.k, v.v))
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            return functional().scaled_dot_product_attention(v.q, k, values, attn_mask=mask, is_causal=causal and mask is None, scale=v.scale)
    return Meaning(tensors, {"out": (d["batch"], d["heads"], d["queries"], d["d"])}, None, scalars, over="head", compiled=False, ahead=masks,
                   more={"cuDNN": by_backend("CUDNN_ATTENTION"), "FlashAttention-2": by_backend("FLASH_ATTENTION"), "memory-efficient": repeated})


def decode_attention(case):
    d, p = case.dims, case.params
    cache = (d["batch"], d["key_heads"], d["keys"], d["d"])
    tensors = {"q": ((d["batch"], d["heads"], d["queries"], d["d"]), "heads"), "k": (cache, "heads"), "v": (cache, "heads")}
    padded = on(p, "padded")
    if padded:
        tensors["lengths"] = ((d["batch"],), ("lengths", d["keys"]))

    def masks(v):
        import torch
        return {"seen": (torch.arange(d["keys"], device=v.q.device) < v.lengths[:, None])[:, None, None]} if padded else {}

    def together(name):
        """The queries of all heads that share keys as rows of one head, so that nothing is repeated."""
        def call(v):
            from torch.nn.attention import SDPBackend, sdpa_kernel
            q = v.q.reshape(d["batch"], d["key_heads"], -1, d["d"])
            with sdpa_kernel(getattr(SDPBackend, name)):
                y = functional().scaled_dot_product_attention(q, v.k, v.v, attn_mask=v.seen if padded else None, scale=v.scale)
            return y.reshape(v.q.shape)
        return call

    def grouped(name):
        def call(v):
            from torch.nn.attention import SDPBackend, sdpa_kernel
            with sdpa_kernel(getattr(SDPBackend, name)):
                return functional().scaled_dot_product_attention(v.q, v.k, v.v, attn_mask=v.seen if padded else None, scale=v.scale, enable_gqa=True)
        return call
    return Meaning(tensors, {"out": (d["batch"], d["heads"], d["queries"], d["d"])}, None, {"scale": d["d"] ** -0.5}, over="head", compiled=False,
                   ahead=masks,
                   more={"cuDNN": grouped("CUDNN_ATTENTION"), "FlashAttention-2": grouped("FLASH_ATTENTION"),
                         "cuDNN, heads together": together("CUDNN_ATTENTION"), "FlashAttention-2, heads together": together("FLASH_ATTENTION"),
                         "memory-efficient, heads together": together("EFFICIENT_ATTENTION")})


# ---- images -------------------------------------------------------------------------------

def window(p):
    return dict(stride=int(p["stride"]), padding=int(p["padding"]))


def image(x):
    """[n, h, w, c] or [n, h, w, groups, c] as torch's channels_last, where it lies."""
    return x.flatten(3).permute(0, 3, 1, 2)


def convolution(case, eight):
    from .cost import output_size
    d, p = case.dims, case.params
    kernel, act, groups = int(p["kernel"]), p.get("activation", "none"), d["groups"]
    result = (d["n"], *output_size(d, p), groups, d["o"])
    weights = (groups, d["o"], kernel, kernel, d["c"])
    tensors = {"x": ((d["n"], d["h"], d["w"], groups, d["c"]), "uint8" if eight else "type"), "weight_ohwi": (weights, "int8" if eight else "weights")}
    if eight:
        tensors["weight_scale"] = ((groups, d["o"]), ("near", (d["c"] * kernel * kernel) ** -0.5 / 74))
    else:
        tensors["bias"] = ((groups, d["o"]), "type")

    def convolve(v, x, w, bias):
        y = functional().conv2d(image(x), w.flatten(0, 1).permute(0, 3, 1, 2), bias, groups=groups, **window(p))
        return y.permute(0, 2, 3, 1).unflatten(3, (groups, d["o"]))

    def function(v):
        return activate(convolve(v, v.x, v.weight_ohwi, v.bias.flatten()), act)

    def eight_bits(v):
        if v.reference:
            return convolve(v, v.x, v.weight_ohwi, None) * (v.weight_scale * v.x_scale)
        import torch
        return (convolve(v, v.x.to(torch.bfloat16), v.weight_ohwi_half, None).float() * (v.weight_scale * v.x_scale)).to(dtype(case))

    def fused(v):
        import torch
        y = torch.cudnn_convolution_relu(image(v.x), v.weight_ohwi.flatten(0, 1).permute(0, 3, 1, 2), v.bias.flatten(), (int(p["stride"]),) * 2,
                                         (int(p["padding"]),) * 2, (1, 1), groups)
        return y.permute(0, 2, 3, 1).unflatten(3, (groups, d["o"]))
    if eight:
        return Meaning(tensors, {"y": result}, eight_bits, {"x_scale": 0.02}, ahead=lambda v: halves(v, "weight_ohwi"), by_row=("x",))
    return Meaning(tensors, {"y": result}, function, more={"cuDNN": fused} if act == "relu" else {}, by_row=("x",))


def depthwise(case, eight):
    from .cost import output_size
    d, p = case.dims, case.params
    kernel, act = int(p["kernel"]), p.get("activation", "none")
    tensors = {"x": ((d["n"], d["h"], d["w"], d["c"]), "uint8" if eight else "type"), "weight": ((kernel, kernel, d["c"]), "int8" if eight else "weights"),
               **({"weight_scale": ((d["c"],), ("near", 1 / 74 / kernel))} if eight else {"bias": ((d["c"],), "type")})}

    def convolve(x, w, bias):
        return functional().conv2d(image(x), w.permute(2, 0, 1)[:, None], bias, groups=d["c"], **window(p)).permute(0, 2, 3, 1)

    def eight_bits(v):
        if v.reference:
            return convolve(v.x, v.weight, None) * (v.weight_scale * v.x_scale)
        import torch
        return (convolve(v.x.to(torch.bfloat16), v.weight_half, None).float() * (v.weight_scale * v.x_scale)).to(dtype(case))
    result = {"y": (d["n"], *output_size(d, p), d["c"])}
    if eight:
        return Meaning(tensors, result, eight_bits, {"x_scale": 0.02}, ahead=lambda v: halves(v, "weight"), by_row=("x",))
    return Meaning(tensors, result, lambda v: activate(convolve(v.x, v.weight, v.bias), act), by_row=("x",))


def batch_norm(case):
    d, p = case.dims, case.params
    last = p["layout"] == "nhwc"
    name, extents = ("x_nhwc", "nhwc") if last else ("x", "nchw")
    shape = tuple(d[e] for e in extents)

    def function(v):
        x = v.x_nhwc.permute(0, 3, 1, 2) if last else v.x
        y = activate(functional().batch_norm(x, v.mean, v.variance, v.weight, v.bias, eps=v.eps), p["activation"])
        return y.permute(0, 2, 3, 1) if last else y
    per = {n: ((d["c"],), "float32") for n in ("weight", "bias", "mean")}
    return Meaning({name: (shape, "type"), **per, "variance": ((d["c"],), ("near", 1))}, {"y_nhwc" if last else "y": shape}, function, {"eps": 1e-5},
                   by_row=(name,))


def group_norm(case):
    d, act = case.dims, case.params["activation"]
    shape = (d["n"], d["c"], d["h"], d["w"])
    return Meaning({"x": (shape, "type"), "weight": ((d["c"],), "type"), "bias": ((d["c"],), "type")}, {"y": shape},
                   lambda v: activate(functional().group_norm(v.x, d["g"], v.weight, v.bias, v.eps), act), {"groups": d["g"], "eps": 1e-5}, by_row=("x",))


OPS = {"rms_norm": lambda c: norm(c, False), "layer_norm": lambda c: norm(c, True), "conv2d": lambda c: convolution(c, False),
       "conv2d_int8": lambda c: convolution(c, True), "depthwise_conv2d": lambda c: depthwise(c, False),
       "depthwise_conv2d_int8": lambda c: depthwise(c, True),
       **{f.__name__: f for f in (softmax, cross_entropy, bias_activation, transpose, gemm, swiglu, qkv_projection, gemm_reduce, linear_cross_entropy,
                                  gemm_top_k, moe_router, splade, rms_norm_gemm, swiglu_mlp, gemm_int8, swiglu_int8, qkv_projection_int8,
                                  swiglu_mlp_int8, attention, decode_attention, batch_norm, group_norm)}}


def meaning(case):
    return OPS[case.op](case)

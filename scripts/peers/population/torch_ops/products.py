"""Products, and what is computed of them."""

import math

from .common import Meaning, activate, cat, functional, linear, on, wide


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

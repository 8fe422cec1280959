"""Products of 8-bit operands."""

from .common import Meaning, activate, dtype, functional, halves, wide


def int8_weights(d, *names, n="n", k="k"):
    return {**{f"{name}_nk": ((d[n], d[k]), "int8") for name in names}, **{f"{name}_scale": ((d[n],), ("near", 1 / 74)) for name in names}}


def integers(x, w):
    """Sums of products of 8 bits, exact."""
    import torch
    if x.is_floating_point():
        return x @ w.T
    return torch._int_mm(x, w.T).float()


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

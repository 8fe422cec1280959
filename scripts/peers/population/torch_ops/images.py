"""Ops on images."""

from ..cost import output_size
from .common import Meaning, activate, dtype, functional, halves


def window(p):
    return dict(stride=int(p["stride"]), padding=int(p["padding"]))


def image(x):
    """[n, h, w, c] or [n, h, w, groups, c] as torch's channels_last, where it lies."""
    return x.flatten(3).permute(0, 3, 1, 2)


def convolution(case, eight):
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

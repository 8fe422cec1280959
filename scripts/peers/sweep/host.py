"""Cases of the population as rows of scripts/bench: the default library, and the peers that the table has for the op."""

import dataclasses
import inspect

from .. import onednn
from ..entry import ENTRIES, arguments_of
from ..frameworks import F, torch
from ..ops.attention import lengths_mask, slopes_mask
from ..ops.convolution import image
from ..ops.norms import positive_variance
from ..ops.weights import convolution, linear
from ..population.case import SHORT, Case
from ..population.cost import INT8, bytes_, flops
from ..population.draw import sweep
from ..population.in_torch import meaning
from ..population.torch_ops.common import activate

WINDOW = 256  # that the registry's default of window_left has: the native half sets no scalars
WEIGHTS = {  # name -> (rows, columns) of weights, which peers get as [n, k]
    "gemm": {"b": ("n", "k")}, "swiglu": {"w_gate": ("n", "k"), "w_up": ("n", "k")}, "rms_norm_gemm": {"w": ("n", "k")},
    "gemm_reduce": {"w": ("n", "k")}, "linear_cross_entropy": {"w": ("n", "k")}, "gemm_top_k": {"w": ("n", "k")}, "moe_router": {"w": ("n", "k")},
    "splade": {"w": ("vocab", "k")}, "qkv_projection": {"w_q": ("n_q", "depth"), "w_k": ("n_kv", "depth"), "w_v": ("n_kv", "depth")},
    "swiglu_mlp": {"w_gate": ("hidden", "k"), "w_up": ("hidden", "k"), "w_down": ("n", "hidden")}}
RESULTS = {"gemm_top_k": lambda values: values, "moe_router": lambda scores: scores}  # indices of equal values may differ
POST = {"relu": [("eltwise", onednn.RELU)], "silu": [("eltwise", onednn.SWISH)], "gelu_erf": [("eltwise", onednn.GELU_ERF)], "none": []}


def library(case):
    """(params, schedule) of the default library: weights of a model are packed ahead, both operands of a product may be as they are."""
    params = dict(case.params)
    if params.pop("weights", "nk") == "kn":
        return params, "kn"
    if case.op in ("conv2d_int8", "depthwise_conv2d_int8"):
        params.update(add_bias="true", activation="relu", zero_point="true", output="uint8")
    elif case.op in INT8 and case.op != "swiglu_mlp_int8":
        params.update(add_bias="true", zero_point="true")
    elif case.op == "swiglu_mlp_int8":
        params["type"] = "bfloat16"
    return params, ""


def base_of(case):
    """The table's entry of the op that has just these parameters, or else its first, and whether it has."""
    same = lambda p: {n: str(v) for n, v in p.items() if str(v) != "false"}
    entries = [e for e in ENTRIES if e.op == case.op and not callable(e.params)]
    exact = [e for e in entries if same(e.params) == same(library(case)[0]) and not e.settings]
    return (exact or entries)[0], bool(exact)


def call(function):
    """A peer's function that gets all values of a case as a namespace; `named`: those that it wants."""
    def with_names(named):
        def run(**values):
            return function(Names(values))
        run.__signature__ = inspect.Signature([inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in named])
        return run
    return with_names


class Names:
    reference = False

    def __init__(self, values):
        self.__dict__.update(values)


def prepared(case, of):
    """What is filled or made ahead of the calls."""
    def prepare(v):
        made = {}
        if case.op == "batch_norm":
            positive_variance(v)
        for name, (rows, columns) in WEIGHTS.get(case.op, {}).items():
            made[name + "_nk"] = linear(v, name, v[rows], v[columns])
        if "lengths" in v and case.op in ("attention", "decode_attention"):
            made.update(lengths_mask(v))
        elif case.params.get("alibi") == "true":
            made["seen"] = slopes_mask(v)["alibi_bias"]
        elif case.op == "attention":
            made.update(of.ahead(Names(v)))
        if of.ahead and case.op not in ("attention", "decode_attention"):
            made.update(of.ahead(Names({**v, **made})))
        return made
    return prepare


def attend(case):
    causal = case.params.get("causal") == "true"

    def function(v):
        mask = getattr(v, "seen", None)
        return F.scaled_dot_product_attention(v.q, v.k, v.v, attn_mask=mask, is_causal=causal and mask is None, scale=v.scale,
                                              enable_gqa=case.dims["heads"] != case.dims["key_heads"])
    return function


def of_meaning(case, base, exact):
    """An entry whose peers are what the op means in torch."""
    of = meaning(case)
    ahead = {"gemm": [], "swiglu": ["both"], "swiglu_mlp": ["both"], "qkv_projection": ["all_", *(["all_bias"] if case.params.get("add_bias") else [])]}
    tensors = [n for n in of.tensors if n not in ("lengths", "slopes")]
    seen = ["seen"] if {"padded", "alibi", "windowed"} & {n for n, v in case.params.items() if v == "true"} or \
        case.params.get("causal") == "true" and case.op == "attention" and case.dims["queries"] != case.dims["keys"] else []
    names = [*tensors, *of.scalars, *seen]
    if case.op == "splade":
        function = lambda v: torch.log1p(F.relu(F.linear(v.x, v.w_nk, v.bias))).amax(1)
        more = {"torch, maxima first": lambda v: torch.log1p(F.relu(F.linear(v.x, v.w_nk).amax(1) + v.bias))}
    else:
        function = attend(case) if "attention" in case.op else of.function
        more = {n: f for n, f in of.more.items() if n == "torch, joined"}
    w = WEIGHTS.get(case.op)
    changed = dict(torch=call(function)(names), more={n: call(f)([*names, *ahead[case.op]]) for n, f in more.items() if case.op in ahead or case.op == "splade"}
                   if case.op != "splade" else {n: call(f)(names) for n, f in more.items()},
                   prepare=prepared(case, of), results=RESULTS.get(case.op),
                   constants=" ".join(n for n in names if n in ("weight", "bias", "mean", "variance") or n.startswith("bias_") or n.endswith("_nk")))
    if w:
        # In operators that the ONNX exporter knows, as the table's entry has it, whose names of weights end otherwise.
        spelled = base.spelled and call(lambda v: base.spelled(**arguments_of(base.spelled, {**vars(v), **{n: getattr(v, n + "_nk") for n in w}, **case.dims})))
        changed.update(onnx=True, spelled=spelled and spelled(names), onednn=linear_of(case) if case.op == "gemm" and case.params["weights"] == "nk" else None, openblas=None)
    elif not exact:
        changed.update(onnx=True, spelled=None, onednn=None)
    if case.gap and case.op != "gemm":  # oneDNN reads over the gaps
        changed.update(onednn=None)
    if "attention" in case.op:
        changed.update(onnx=base.onnx if exact and not seen else None, native={}, onednn=None)
    return dataclasses.replace(base, **changed)


def linear_of(case):
    p = case.params
    act = p.get("activation", "none")
    if act not in POST:
        return None
    if p.get("add_residual") == "true":
        if p.get("add_bias") == "true":
            return lambda a, b_nk, bias, residual: onednn.linear(a, b_nk, bias, POST[act] + [("binary", onednn.ADD, residual)])
        return lambda a, b_nk, residual: onednn.linear(a, b_nk, None, POST[act] + [("binary", onednn.ADD, residual)])
    if p.get("add_bias") == "true":
        return lambda a, b_nk, bias: onednn.linear(a, b_nk, bias, POST[act])
    return lambda a, b_nk: onednn.linear(a, b_nk, None, POST[act])


def windows(case, base):
    """A convolution in floating point."""
    p, d = case.params, case.dims
    stride, padding, kernel, act = int(p["stride"]), int(p["padding"]), int(p["kernel"]), p.get("activation", "none")
    groups = d.get("groups", d["c"])

    def prepare(v):
        if case.op == "depthwise_conv2d":
            w = v["weight"].permute(2, 0, 1).unsqueeze(1).contiguous()
        else:
            w = convolution(v, d["o"], d["c"], kernel, groups)
        return {"image": image(v["x"]), "w": w, "shift": v["bias"].flatten()}

    def one(blocked):
        return lambda image, w, shift: onednn.convolution(image, w, shift, stride=stride, padding=padding, groups=groups, post=POST[act], blocked=blocked)
    return dataclasses.replace(base, prepare=prepare, constants="w shift", results=lambda y: image(y), onnx=True,
                               torch=lambda image, w, shift: activate(F.conv2d(image, w, shift, stride, padding, 1, groups), act),
                               onednn=one(False), native={"oneDNN blocked": one(True)})


def entry_of(case):
    base, exact = base_of(case)
    if case.op in ("conv2d", "depthwise_conv2d"):
        entry = windows(case, base)
    elif case.op in INT8:
        entry = base
    else:
        entry = of_meaning(case, base, exact)
    params, schedule = library(case)
    label = case.label
    return dataclasses.replace(entry, label=label, params=params, settings={}, schedules=(schedule,), cold=False, strides=strides(case), case=case.record(), shapes=[shape(case)],
                               flops=lambda: flops(case), bytes=lambda: bytes_(case))


def strides(case):
    """Of tensors that are parts of others: rows apart, heads behind tokens, q, k and v of one projection."""
    d = case.dims
    if case.gap:
        name, columns = ("a", d["k"]) if case.op == "gemm" else ("logits" if case.op == "cross_entropy" else "x", d["cols"])
        return {name: [1, columns + case.gap]}
    if case.layout not in ("tokens first", "fused"):
        return None

    def of(length, together):
        return [1, d["d"] * together, d["d"], d["d"] * together * length]
    all_ = d["heads"] + 2 * d["key_heads"] if case.layout == "fused" else 0
    q, k = of(d["queries"], all_ or d["heads"]), of(d["keys"], all_ or d["key_heads"])
    return {"q": q, "k": k, "v": k, "out": of(d["queries"], d["heads"])}


def shape(case):
    return ",".join(f"{n}={v}" for n, v in case.dims.items() if n != "window")


def possible(case):
    """As the native half and the peers have it: one window, and convolutions of 8 bits with a stride of 1."""
    params, dims, op = dict(case.params), dict(case.dims), case.op
    if "window" in dims:
        dims["window"] = WINDOW
        if dims["keys"] <= WINDOW:
            del dims["window"], params["windowed"]
    if op.startswith(("conv2d_int8", "depthwise_conv2d_int8")):  # whose peers have a stride of 1
        params.update(stride="1", padding=str(int(params["kernel"]) // 2))
    return Case(**{**case.record(), "params": params, "dims": dims})


def rows(seed, first, count):
    """(number, entry, shape, kind) for the cases of a host."""
    for case in map(possible, sweep(seed, first, count, "host")):
        yield case.index, entry_of(case), shape(case), "int8" if case.op in INT8 else SHORT[case.type]

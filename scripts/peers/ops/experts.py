"""Mixtures of experts: products of each expert's rows, beside a loop over the experts, as transformers has it."""

from ..entry import op
from ..frameworks import F, torch
from .weights import pack_into, random

FAMILY = "GEMM"


def experts(values, name, n, k, count):
    """Fills NAME_nk or NAME_packed with the weights of each expert; returns w [count, n, k]."""
    w = random(name, count, n, k, dtype=values["dtype"], scale=(3 / k) ** 0.5)
    if name + "_nk" in values:
        values[name + "_nk"].copy_(w)
    for e in range(count if name + "_packed" in values else 0):
        pack_into(values[name + "_packed"][e], w[e])
    return w


def routed(v):
    """Every token has top_k experts, drawn alike for all."""
    tokens, top_k, count = v["tokens"], v["top_k"], v["experts"]
    chosen = torch.rand(tokens, count, generator=torch.Generator().manual_seed(1)).topk(top_k).indices.flatten()
    order = chosen.argsort(stable=True)
    v["offsets"].copy_(torch.cat([torch.zeros(1), torch.bincount(chosen, minlength=count).cumsum(0)]).int())
    if "row_index" in v:
        v["row_index"].copy_((order // top_k).int())
    if "place" in v:
        v["place"].copy_(order.argsort().view(tokens, top_k).int())
    return {"bounds": v["offsets"].tolist()}


def gated(v):
    names = ("w_gate", "w_up")
    return {**routed(v), **{w: experts(v, w, v["n"], v["k"], v["experts"]) for w in names}}


def loop_gated(x, row_index, bounds, w_gate, w_up):
    parts = [x[row_index[a:b].long()] for a, b in zip(bounds, bounds[1:])]
    return torch.cat([F.silu(F.linear(p, g)) * F.linear(p, u) for p, g, u in zip(parts, w_gate, w_up) if len(p)])


def loop_combined(x, bounds, place, scores, w):
    rows = torch.cat([F.linear(x[a:b], w[e]) for e, (a, b) in enumerate(zip(bounds, bounds[1:])) if a < b])
    return (rows[place.long()].float() * scores[..., None]).sum(1).to(x.dtype)


SHAPES = [("tokens=4,top_k=8,experts=32,n=768,k=2048", "f32 bf16"), ("tokens=512,top_k=8,experts=32,n=768,k=2048", "f32 bf16")]
BACK = [("tokens=4,top_k=8,experts=32,n=2048,k=768", "f32 bf16"), ("tokens=512,top_k=8,experts=32,n=2048,k=768", "f32 bf16")]

op("grouped_gemm", label="gated, gathered", family=FAMILY, shapes=SHAPES, constants="w_gate w_up", prepare=gated, onnx=None,
   params={"gated": "true", "gather": "true", "activation": "silu"}, torch=loop_gated,
   flops=lambda tokens, top_k, n, k: 4 * tokens * top_k * n * k)

op("grouped_gemm", label="summed by token", family=FAMILY, shapes=BACK, constants="w", onnx=None,
   prepare=lambda v: {**routed(v), "w": experts(v, "w", v["n"], v["k"], v["experts"])}, params={"combine": "true"}, torch=loop_combined)


def sorted_pairs(ids, experts):
    flat = ids.flatten().long()
    order = flat.argsort(stable=True)
    offsets = torch.cat([flat.new_zeros(1), torch.bincount(flat, minlength=experts).cumsum(0)])
    return tuple(t.int() for t in (offsets, order, order // ids.shape[1], order.argsort().view(ids.shape)))


# Of integers, and without a parameter for their type.
op("expert_sort", family=FAMILY, types="int8", shapes=["tokens=512,top_k=8,experts=128"], onnx=None, torch=sorted_pairs,
   prepare=lambda v: (v["ids"].copy_(torch.randint(v["experts"], v["ids"].shape).int()), {})[1])

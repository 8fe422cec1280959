"""Cases of products of which a row leaves a number, or a few."""

from .table import case, functional, multiply_flops, weight

VOCABULARY = [dict(m=2048, n=32768, k=1024)]
LARGE_VOCABULARY = [dict(m=8192, n=128256, k=4096)]
ODD_VOCABULARY = [dict(m=1, n=1, k=1), dict(m=130, n=264, k=72), dict(m=65, n=1000, k=33)]


def projected(d):
    return {"x": ((d["m"], d["k"]), "type"), **weight(d, "w_nk")}


def all_columns(d):
    return {"columns": d["n"]}


def log_sum(x, w_nk):
    return (x @ w_nk.T).logsumexp(-1)


def linear_cross_entropy(x, w_nk, labels, **_):
    logits = x @ w_nk.T
    return functional().cross_entropy(logits.float(), labels.long(), reduction="none"), logits.float().logsumexp(-1)


def largest(x, w_nk):  # of equal logits, the columns may differ
    return (x @ w_nk.T).topk(8).values


def routed(x, w_nk):
    return (x @ w_nk.T).topk(8).values.float().softmax(-1)


def labelled(d):
    return {**projected(d), "labels": ((d["m"],), "columns")}


# On the tensor cores, and in full float32.
for schedule, types in (("", ("bfloat16",)), ("simt", ("float32",)), ("unfused", ("float32",))):
    of_schedule = dict(schedule=schedule, types=types, flops=multiply_flops, sizes=all_columns,
                       checked_types=("float16", "bfloat16") if not schedule else ("float32", "float16", "bfloat16"))
    case("gemm_reduce", schedule, {}, projected, log_sum, lambda d: {"y": (d["m"],)}, VOCABULARY, ODD_VOCABULARY,
         peers={"torch": log_sum} if schedule != "unfused" else {}, **of_schedule)
    case("linear_cross_entropy", schedule, {}, labelled, linear_cross_entropy, lambda d: {"loss": (d["m"],), "lse": (d["m"],)},
         VOCABULARY if schedule else VOCABULARY + LARGE_VOCABULARY, ODD_VOCABULARY, scalars={"ignore_index": -100},
         peers={"torch": linear_cross_entropy} if schedule != "unfused" else {}, **of_schedule)


def splade(x, w_nk, bias, lengths):
    import torch
    counts = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return (x @ w_nk.T + bias).relu().log1p().masked_fill(~counts[..., None], 0).amax(1)


def splade_of_maxima(x, w_nk, bias, lengths):
    import torch
    counts = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return ((x @ w_nk.T).masked_fill(~counts[..., None], -torch.inf).amax(1) + bias).relu().log1p()


for schedule, types in (("", ("bfloat16",)), ("simt", ("float32",))):
    case("splade", schedule, {"weights": "nk"},
         lambda d: {"x": ((d["batch"], d["keys"], d["k"]), "type"), **weight(d, "w_nk"), "bias": ((d["n"],), "type"),
                    "lengths": ((d["batch"],), "lengths")},
         splade, lambda d: {"y": (d["batch"], d["n"])}, [dict(batch=32, keys=n, k=768, n=30522) for n in (128, 64)],
         [dict(batch=3, keys=37, k=72, n=300), dict(batch=1, keys=1, k=1, n=1), dict(batch=2, keys=200, k=129, n=515)],
         sizes=lambda d: {"positions": d["keys"]}, peers={"torch": splade, "maxima first": splade_of_maxima}, types=types,
         checked_types=("float16", "bfloat16") if not schedule else ("float32", "float16", "bfloat16"),
         flops=lambda d: 2.0 * d["batch"] * d["keys"] * d["k"] * d["n"], schedule=schedule)
case("gemm_reduce", "max", {"reduction": "max"}, projected, lambda x, w_nk: (x @ w_nk.T).max(-1).values, lambda d: {"y": (d["m"],)},
     VOCABULARY, ODD_VOCABULARY, peers={"torch": lambda x, w_nk: (x @ w_nk.T).max(-1).values}, checked_types=("float16", "bfloat16"),
     flops=multiply_flops, sizes=all_columns)

CHOSEN = [dict(m=130, n=264, k=72), dict(m=65, n=1000, k=33), dict(m=1, n=8, k=1)]
ROUTED = [dict(m=16384, n=256, k=4096)]
TOKENS = [dict(m=8200, n=n, k=24) for n in (8, 66, 130)] + [dict(m=2000, n=256, k=72)]
FEW_ROUTED = [dict(m=m, n=256, k=7168) for m in (16, 256)]
for schedule, types, sizes in (("", ("bfloat16",), ROUTED + FEW_ROUTED), ("simt", ("float32",), ROUTED)):
    case("moe_router", schedule, {"top_k": "8"}, projected, routed, lambda d: {"scores": (d["m"], 8), "indices": (d["m"], 8)},
         sizes, CHOSEN if schedule else CHOSEN + TOKENS, peers={"torch": routed}, types=types, flops=multiply_flops, sizes=lambda d: {"experts": d["n"]}, schedule=schedule,
         checked_types=("float32", "float16", "bfloat16") if schedule == "simt" else ("float16", "bfloat16"))
for schedule, types in (("", ("bfloat16",)), ("simt", ("float32",))):
    of_schedule = dict(schedule=schedule, types=types, flops=multiply_flops,
                       checked_types=("float16", "bfloat16") if not schedule else ("float32", "float16", "bfloat16"))
    case("gemm_top_k", schedule, {"top_k": "8"}, projected, largest, lambda d: {"values": (d["m"], 8), "indices": (d["m"], 8)},
         VOCABULARY, CHOSEN, peers={"torch": largest}, sizes=all_columns, **of_schedule)

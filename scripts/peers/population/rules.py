"""What a case has to keep to: each op's constraints, and how large a case may be on a machine."""

from .cost import bytes_, flops, output_size, working_bytes

# What no default CUDA library does; each is a gap of the schedules, not of the models.
HEADS_ON_GPU = (32, 64, 80, 96, 128)  # of schedules/cuda/attention.lua, whose default blocks leave no room for larger ones
FARTHEST_APART = 8  # elements that TMA fetches along a dimension: the stride of a convolution on tensor cores
# Of one case: bytes, operations (as float32 on one thread, as half on the tensor cores), and bytes of what peers hold besides.
LIMITS = {"host": dict(bytes=192 << 20, flops=8e9, working=1 << 30), "cuda": dict(bytes=2 << 30, flops=4e12, working=12 << 30)}


def too_large(case, target):
    limit = LIMITS[target]
    return bytes_(case) > limit["bytes"] or flops(case) > limit["flops"] or working_bytes(case) > limit["working"]


def broken(case, target):
    """What is wrong with a case: a list of sentences."""
    d, p = case.dims, case.params
    wrong = [f"{n} is {v}" for n, v in d.items() if v < 1]
    if too_large(case, target):
        wrong.append("it is too large")
    if case.op in ("attention", "decode_attention"):
        if d["heads"] % d["key_heads"]:
            wrong.append("the heads of keys do not divide those of queries")
        if target == "cuda" and case.op == "attention" and d["d"] not in HEADS_ON_GPU:
            wrong.append(f"heads of {d['d']} have no schedule")
        if p.get("causal") == "true" and d["keys"] < d["queries"]:
            wrong.append("queries without a key")
        if ("window" in d) != (p.get("windowed") == "true"):
            wrong.append("a window that is none")
        if case.layout == "fused" and d["keys"] != d["queries"]:
            wrong.append("q, k and v of one tensor with unequal lengths")
    if case.op == "group_norm" and d["c"] % d["g"]:
        wrong.append("groups do not divide channels")
    if case.op in ("moe_router", "gemm_top_k") and int(p["top_k"]) > d["n"]:
        wrong.append("fewer columns than are wanted")
    if target == "cuda" and case.op in ("conv2d", "conv2d_int8") and int(p["stride"]) > FARTHEST_APART:
        wrong.append(f"a stride of {p['stride']} has no schedule")
    if "conv2d" in case.op and min(output_size(d, p)) < 1:
        wrong.append("the kernel is larger than the image")
    if case.op == "softmax" and p.get("causal") == "true" and d["cols"] < d["rows"]:
        wrong.append("rows without a column")
    if case.gap < 0:
        wrong.append("rows overlap")
    return wrong

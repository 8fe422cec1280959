"""What is called while other streams keep the memory busy (stress.py): every CUDA schedule that ships, at sizes that reach its versions.

The cases of the table, with other sizes, and those of the ops and settings that the table does not time. A library is made for one type:
bfloat16, or what the case has where it has no bfloat16.
"""

import dataclasses
import math

from . import front
from .attention import head_scale, heads
from .images import functional
from .table import CASES, Case, cut_to_tf32

# Few rows (each number of them that has tiles of its own), split sums over clusters, tiles of each size, rows that begin anywhere.
# By costs in schedules/lib/gpu_gemm.lua each of its versions is the cheapest of one of these on a device of 132 multiprocessors.
PRODUCTS = [dict(m=m, n=n, k=k) for m, n, k in (
    (1, 4096, 4096), (16, 2048, 2048), (17, 257, 65), (32, 4096, 4096), (64, 4096, 4096), (64, 512, 8192), (100, 4096, 4096),
    (256, 4096, 4096), (300, 4096, 4096), (300, 513, 1001), (512, 4096, 4096), (512, 11008, 4096), (1024, 4096, 4096))]
SOME_PRODUCTS = [dict(m=m, n=n, k=k) for m, n, k in ((17, 256, 128), (512, 2048, 2048))]
FEW_ROWS = [dict(m=m, n=n, k=k) for m, n, k in ((1, 4096, 4096), (16, 2048, 2048), (16, 11008, 4096), (31, 96, 4096), (32, 4096, 4096))]
# Weights of few bits, and numbers of 8: groups of 128 along k.
OF_FEW_BITS = [dict(m=m, n=n, k=k) for m, n, k in (
    (1, 4096, 4096), (4, 4096, 4096), (16, 2048, 2048), (16, 1024, 8192), (17, 264, 1152), (32, 11008, 4096), (64, 4096, 4096), (64, 1024, 8192),
    (100, 4096, 4096), (128, 512, 8192), (256, 4096, 4096), (512, 4096, 4096), (1024, 4096, 4096))]
FLOAT8 = [dict(m=m, n=n, k=k) for m, n, k in (
    (1, 4096, 4096), (16, 2048, 2048), (17, 272, 1152), (32, 4096, 4096), (64, 4096, 4096), (100, 4096, 4096), (256, 4096, 4096),
    (257, 1040, 4112), (512, 4096, 4096), (1024, 4096, 7168))]
INT8 = [*PRODUCTS, dict(m=300, n=528, k=1040)]
CHAINS = [dict(m=m, n=n, k=k) for m, n, k in ((16, 2048, 1024), (16, 11008, 4096), (32, 2816, 1024), (64, 2816, 1024), (130, 264, 80), (256, 2816, 1024),
                                              (1024, 5632, 2048))]
ROWS = [dict(rows=rows, cols=cols) for rows, cols in ((5, 1000), (16, 8192), (17, 4097), (3, 131072), (2048, 4096), (4096, 100), (300, 20000))]
SOME_ROWS = [dict(rows=17, cols=1000), dict(rows=1024, cols=4096)]
VOCABULARIES = [dict(rows=3, cols=1000), dict(rows=16, cols=32000), dict(rows=1024, cols=32001)]
OF_PIXELS = [dict(n=2, c=12, h=7, w=13), dict(n=8, c=256, h=28, w=28)]
CONVOLUTIONS = [dict(n=2, h=7, w=13, c=5, o=70), dict(n=1, h=14, w=14, c=256, o=256), dict(n=1, h=28, w=28, c=512, o=128), dict(n=4, h=28, w=28, c=128, o=128),
                dict(n=16, h=56, w=56, c=64, o=64), dict(n=3, h=19, w=11, c=72, o=136), dict(n=8, h=112, w=112, c=3, o=64), dict(n=16, h=14, w=14, c=256, o=512)]
SOME_CONVOLUTIONS = [dict(n=2, h=7, w=13, c=5, o=70), dict(n=4, h=28, w=28, c=64, o=64)]
LOGITS = [dict(m=m, n=n, k=k) for m, n, k in ((1, 4096, 1024), (16, 32000, 1024), (65, 1000, 33), (130, 264, 72), (512, 32000, 512))]
SOME_LOGITS = [dict(m=65, n=1000, k=33), dict(m=128, n=4096, k=256)]
ROUTED = [dict(m=m, n=n, k=k) for m, n, k in ((1, 64, 2048), (65, 1000, 33), (512, 256, 2048), (2048, 256, 1024), (8200, 64, 512), (8200, 128, 512), (8200, 256, 512))]


def of_experts(tokens, top_k, experts, n, k):
    return dict(tokens=tokens, top_k=top_k, experts=experts, n=n, k=k)


EXPERTS = [of_experts(7, 3, 5, 70, 33), of_experts(1, 8, 32, 768, 2048), of_experts(64, 8, 32, 768, 2048), of_experts(512, 8, 32, 768, 1024)]


def grouped(heads, key_heads, s, keys, d, n=1):
    return dict(n=n, h=heads, hk=key_heads, s=s, keys=keys, d=d)


def attended_by(d):
    return [grouped(4, 2, 130, 130, d, 2), grouped(8, 2, 1024, 1024, d), grouped(8, 8, 512, 1500, d, 2)]


def caches(*sizes):
    return [dict(batch=batch, heads=heads, key_heads=key_heads, queries=queries, keys=keys, d=d)
            for batch, heads, key_heads, queries, keys, d in sizes]


SPLITS = caches((2, 8, 2, 1, 1100, 128), (16, 32, 8, 1, 4096, 128), (2, 10, 2, 1, 5000, 128))
DECODED = caches((3, 8, 2, 1, 777, 64), (2, 16, 2, 1, 2000, 64), (2, 8, 2, 4, 1100, 64), (16, 32, 8, 1, 4096, 128), (4, 32, 4, 1, 4096, 128), (2, 8, 2, 3, 1100, 128),
                 (2, 8, 8, 1, 1100, 80), (2, 8, 8, 4, 1100, 80), (4, 8, 8, 1, 2000, 96), (2, 8, 2, 3, 777, 96), (2, 16, 2, 1, 4097, 256), (2, 8, 2, 4, 1100, 256),
                 (1, 8, 1, 1, 513, 33), (64, 8, 4, 1, 2048, 72))
FRONTS = [*front.ODD, front.sizes(16), front.sizes(256)]
POSITIONS = [dict(batch=3, keys=37, k=72, n=300), dict(batch=4, keys=128, k=768, n=4096), dict(batch=8, keys=64, k=384, n=30522)]

# Of cases of the table: by op, then by label; "" are those whose label has nothing here.
SIZES = {
    "rms_norm": {"": ROWS, "unfused": SOME_ROWS}, "layer_norm": {"": ROWS, "unfused": SOME_ROWS}, "softmax": {"": ROWS, "unfused": SOME_ROWS},
    "bias_activation": {"": ROWS, "unfused": SOME_ROWS}, "cross_entropy": {"": VOCABULARIES},
    "gemm": {"": PRODUCTS, "TF32": SOME_PRODUCTS + FEW_ROWS, "simt": SOME_PRODUCTS, "simt nk": SOME_PRODUCTS,
             "unfused": SOME_PRODUCTS, "bias GELU few rows": FEW_ROWS, "nk few rows": FEW_ROWS, "bias GELU few rows in clusters": FEW_ROWS,
             "large": SOME_PRODUCTS, "bias GELU large": SOME_PRODUCTS, "bias GELU flat": SOME_PRODUCTS},
    "gemm_int8": {"": INT8, "dp4a": SOME_PRODUCTS, "unfused": SOME_PRODUCTS, "large": SOME_PRODUCTS},
    "gemm_fp8": {"": FLOAT8}, "gemm_q": {"": OF_FEW_BITS},
    "swiglu": {"": PRODUCTS, "few rows": FEW_ROWS, "unfused": SOME_PRODUCTS}, "rms_norm_gemm": {"": PRODUCTS, "unfused": SOME_PRODUCTS},
    "swiglu_int8": {"": INT8, "skinny": FEW_ROWS, "unfused": SOME_PRODUCTS},
    "swiglu_mlp": {"": CHAINS, "few rows": CHAINS[:2], "unfused": CHAINS[4:6]}, "swiglu_mlp_int8": {"": CHAINS, "skinny": CHAINS[:2], "unfused": CHAINS[4:6]},
    "qkv_projection": {"": [{**d, "n_kv": d["n"] // 4} for d in PRODUCTS], "few rows": [{**d, "n_kv": d["n"] // 4} for d in FEW_ROWS],
                       "unfused": [{**d, "n_kv": d["n"] // 4} for d in SOME_PRODUCTS]},
    "qkv_projection_int8": {"": [{**d, "n_kv": d["n"] // 4} for d in INT8], "skinny": [{**d, "n_kv": d["n"] // 4} for d in FEW_ROWS],
                            "unfused": [{**d, "n_kv": d["n"] // 4} for d in SOME_PRODUCTS]},
    "qkv_rope": {"": FRONTS}, "batch_norm": {"": OF_PIXELS}, "group_norm": {"": OF_PIXELS, "32 groups": [dict(n=2, c=64, h=7, w=13), dict(n=8, c=320, h=32, w=32)]},
    "transpose": {"": [dict(batch=2, rows=65, cols=129), dict(batch=1, rows=1000, cols=264), dict(batch=4, rows=1024, cols=1024)]},
    "depthwise_conv2d": {"": OF_PIXELS}, "depthwise_conv2d_int8": {"": OF_PIXELS},
    "conv2d": {"": CONVOLUTIONS, "simt": SOME_CONVOLUTIONS, "unfused": SOME_CONVOLUTIONS},
    "conv2d_int8": {"": CONVOLUTIONS, "dp4a": SOME_CONVOLUTIONS, "unfused": SOME_CONVOLUTIONS},
    "gemm_reduce": {"": LOGITS, "simt": SOME_LOGITS, "unfused": SOME_LOGITS},
    "linear_cross_entropy": {"": LOGITS, "simt": SOME_LOGITS, "unfused": SOME_LOGITS},
    "gemm_top_k": {"": LOGITS, "simt": SOME_LOGITS, "draw": [{**d, "top_k": 50} for d in LOGITS]},
    "sample": {"": [dict(rows=3, vocab=1000, top_k=3), dict(rows=64, vocab=32000, top_k=40), dict(rows=1, vocab=128256, top_k=0),
                    dict(rows=16, vocab=151936, top_k=1)]}, "splade": {"": POSITIONS},
    "moe_router": {"": ROUTED, "simt": SOME_LOGITS}, "grouped_gemm": {"": EXPERTS},
    "decode_attention": {"": DECODED, "heads of 128": SPLITS, "tensor cores": SPLITS, "tensor cores, splits of 4096": SPLITS,
                         "lengths tensor cores": SPLITS},
    "attention": {"unfused": caches((2, 4, 2, 70, 150, 64), (1, 8, 8, 512, 512, 64)), **{f"{causal}d{d}{more}": attended_by(d) for causal in ("", "causal ")
                                                                                         for d in (64, 128) for more in ("", " 64 keys", " 192 queries")}},
}


ANY = -2 ** 31  # stands where a reference has integers for one that it does not know


def of_table(case):
    sizes = SIZES[case.op]
    kinds = (*case.types, *case.checked_types)
    kind = "bfloat16" if "bfloat16" in kinds else case.types[0]
    return dataclasses.replace(case, types=(kind,), checked_types=(), timed=[], checked=sizes.get(case.label, sizes.get("", [])))


def extra(op, label, params, tensors, reference, outputs, called, **more):
    return Case(op, label, params, tensors, reference, outputs, [], called, checked_types=(), **more)


# Other heads, which the table does not time.

def attention_tensors(d):
    return {"q": ((d["n"], d["h"], d["s"], d["d"]), "type"), **{x: ((d["n"], d["hk"], d["keys"], d["d"]), "type") for x in ("k", "v")}}


def attend(causal):
    def call(q, k, v, scale):
        group = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(group, 1) for x in (k, v))
        scores = q @ k.transpose(-1, -2) * scale
        if causal:
            ones = scores.new_ones(scores.shape[-2:]).bool()
            scores = scores.masked_fill(~ones.tril(scores.shape[-1] - scores.shape[-2]), -math.inf)
        return scores.softmax(-1).nan_to_num(0) @ v
    return call


def attention_cases():
    for d in (32, 80, 96, 192, 256):  # the longest leave room for smaller blocks
        settings = {"head_dim": d, **({"key_block": 64, "query_block": 64} if d > 128 else {})}
        for causal in (False, True):
            yield extra("attention", ("causal " if causal else "") + f"d{d}", {"causal": str(causal).lower()}, attention_tensors, attend(causal),
                        lambda x: {"out": (x["n"], x["h"], x["s"], x["d"])}, attended_by(d), scalars={"scale": d ** -0.5}, settings=settings)
    for d in (64, 256):
        yield extra("decode_attention", f"tensor cores d{d}", {"padded": "false"}, heads, attend(False),
                    lambda x: {"out": (x["batch"], x["heads"], x["queries"], x["d"])},
                    caches((2, 8, 2, 1, 1100, d), (8, 16, 4, 1, 4096, d)), sizes=head_scale, schedule="mma",
                    settings={"head_dim": d, **({"warps": 2} if d == 256 else {})})


# Convolutions in groups, with a stride, and of weights as torch.nn.Conv2d stores them.

def convolve_groups(x, weight, bias, **window):
    """x[n, h, w, groups, c], weight[groups, o, c, rows, columns]."""
    n, h, w, groups, c = x.shape
    y = functional().conv2d(x.reshape(n, h, w, groups * c).permute(0, 3, 1, 2), weight.flatten(0, 1), bias.flatten(), groups=groups, **window)
    return functional().relu(y).permute(0, 2, 3, 1).unflatten(3, (groups, -1))


def grouped_outputs(d):
    stride = d.get("stride", 1)
    return {"y": (d["n"], -(-d["h"] // stride), -(-d["w"] // stride), d["g"], d["o"])}


def image(d):
    return {"x": ((d["n"], d["h"], d["w"], d["g"], d["c"]), "type"), "bias": ((d["g"], d["o"]), "type")}


def unpacked(weight_packed, o, c):
    """[groups, o, c, rows, columns] of [groups, panels, rows, columns, c / pairs, panel, pairs]."""
    groups, panels, rows, columns, steps, panel, pairs = weight_packed.shape
    return weight_packed.permute(0, 1, 5, 4, 6, 2, 3).reshape(groups, panels * panel, steps * pairs, rows, columns)[:, :o, :c]


def convolution_cases():
    params = {"add_bias": "true", "activation": "relu"}
    in_groups = [dict(n=2, h=7, w=13, g=3, c=5, o=70), dict(n=4, h=28, w=28, g=4, c=64, o=64), dict(n=8, h=56, w=56, g=8, c=16, o=16)]
    yield extra("conv2d", "groups", params, lambda d: {**image(d), "weight_ohwi": ((d["g"], d["o"], 3, 3, d["c"]), "type")},
                lambda x, weight_ohwi, bias: convolve_groups(x, weight_ohwi.permute(0, 1, 4, 2, 3), bias, padding=1), grouped_outputs, in_groups)
    yield extra("conv2d", "stride", {**params, "stride": "2"}, lambda d: {**image(d), "weight_ohwi": ((d["g"], d["o"], 3, 3, d["c"]), "type")},
                lambda x, weight_ohwi, bias: convolve_groups(x, weight_ohwi.permute(0, 1, 4, 2, 3), bias, padding=1, stride=2), grouped_outputs,
                [dict(n=2, h=7, w=13, g=1, c=24, o=70, stride=2), dict(n=8, h=56, w=56, g=1, c=64, o=128, stride=2)])
    yield extra("conv2d", "oihw", params, lambda d: {**image(d), "weight": ((d["g"], d["o"], d["c"], 3, 3), "type")},
                lambda x, weight, bias: convolve_groups(x, weight, bias, padding=1), grouped_outputs,
                [dict(n=2, h=7, w=13, g=1, c=5, o=70), dict(n=4, h=28, w=28, g=1, c=64, o=64)], schedule="oihw")
    yield extra("conv2d", "grouped", params, lambda d: {**image(d), "weight_packed": ((d["g"], 1, 3, 3, -(-d["c"] // 2), 4, 2), "type")},
                lambda x, weight_packed, bias: convolve_groups(x, unpacked(weight_packed, bias.shape[1], x.shape[-1]), bias, padding=1), grouped_outputs,
                [dict(n=2, h=7, w=13, g=5, c=4, o=4), dict(n=4, h=56, w=56, g=32, c=4, o=4)], schedule="grouped")


# What has no peer in the table.

def below(name):
    """Integers that are below the dimension of that name."""
    def make(extents, dims, generator):
        import torch
        return torch.randint(0, dims[name], extents, generator=generator, device=generator.device, dtype=torch.int32)
    return make


def number(value):
    def make(extents, dims, generator):
        import torch
        return torch.full(extents, value, device=generator.device, dtype=torch.float32 if isinstance(value, float) else torch.int32)
    return make


def uniform(extents, dims, generator):
    import torch
    return torch.rand(extents, generator=generator, device=generator.device)


def turned(x, cos, sin):
    import torch
    half = cos.shape[-1]
    a, b, rest = x[..., :half], x[..., half:2 * half], x[..., 2 * half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)


def rope_by_tables(x, positions, cos_table, sin_table):
    return turned(x, cos_table[positions.long()][:, None], sin_table[positions.long()][:, None])


def rope_by_frequencies(x, positions, frequencies):
    angles = (positions.to(x.dtype)[:, None] * frequencies)[:, None]
    return turned(x, angles.cos(), angles.sin())


def frequencies(extents, dims, generator):
    import torch
    return 10000.0 ** (-torch.arange(extents[0], device=generator.device, dtype=torch.float32) / extents[0])


def turned_heads(d):
    return {"y": (d["tokens"], d["heads"], d["d"])}


def heads_to_turn(d):
    return {"x": ((d["tokens"], d["heads"], d["d"]), "type"), "positions": ((d["tokens"],), below("length"))}


def sorted_pairs(ids, experts):
    """offsets, order, row_index and place of ids[tokens, top_k], all of which are experts'."""
    import torch
    tokens, top_k = ids.shape
    flat = ids.flatten().long()
    counts = torch.bincount(flat, minlength=experts)
    order = torch.sort(flat, stable=True).indices
    place = torch.empty_like(order)
    place[order] = torch.arange(tokens * top_k, device=ids.device)
    offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return offsets, order, order // top_k, place.view(tokens, top_k)


def routed(logits):
    return logits.topk(8).values.float().softmax(-1)


def other_cases():
    sizes = [dict(tokens=5, heads=3, d=64, width=64, length=77), dict(tokens=512, heads=32, d=128, width=128, length=4096),
             dict(tokens=4096, heads=8, d=128, width=64, length=4096)]
    for schedule in ("", "unfused"):
        yield extra("rope", schedule, {"table_type": "float32"}, lambda d: {
            **heads_to_turn(d), "cos_table": ((d["length"], d["width"] // 2), "float32"), "sin_table": ((d["length"], d["width"] // 2), "float32")},
            rope_by_tables, turned_heads, sizes, schedule=schedule)
    yield extra("rope", "frequencies", {"angles": "frequencies"}, lambda d: {**heads_to_turn(d), "frequencies": ((d["width"] // 2,), frequencies)},
                rope_by_frequencies, turned_heads, sizes)
    yield extra("expert_sort", "", {}, lambda d: {"ids": ((d["tokens"], d["top_k"]), below("experts"))}, sorted_pairs,
                lambda d: {"offsets": (d["experts"] + 1,), "order": (d["tokens"] * d["top_k"],), "row_index": (d["tokens"] * d["top_k"],),
                           "place": (d["tokens"], d["top_k"])},
                [dict(tokens=7, top_k=3, experts=5), dict(tokens=512, top_k=8, experts=128), dict(tokens=8192, top_k=8, experts=256)], types=("",),
                sizes=lambda d: {"experts": d["experts"]})
    yield extra("moe_router", "given", {"weights": "given", "top_k": "8"}, lambda d: {"logits": ((d["m"], d["n"]), "type")}, routed,
                lambda d: {"scores": (d["m"], 8), "indices": (d["m"], 8)}, [dict(m=65, n=100), dict(m=4096, n=256)], sizes=lambda d: {"experts": d["n"]},
                schedule="given")


# Weights of GGUF files, of which blocks of so many columns are interleaved (halyard/blocks.h).

INTERLEAVED, OF_BLOCK, SCALE = 16, 32, 2  # columns; weights, and bytes of a scale


def interleaved_blocks(extents, dims, generator):
    import torch
    scales = torch.rand((*extents[:2], INTERLEAVED), generator=generator, device=generator.device) / 100 + 0.001
    weights = torch.randint(0, 256, (*extents[:2], INTERLEAVED * OF_BLOCK), generator=generator, device=generator.device)
    return torch.cat([scales.half().view(torch.uint8), weights.to(torch.uint8)], 2)


def weights_of_blocks(b):
    """[n, k] of bytes [n / columns, k / 32, bytes of the columns' blocks]: the scales, then four weights of each column, and the next four."""
    import torch
    panels, blocks, _ = b.shape
    scales = b[..., :SCALE * INTERLEAVED].contiguous().view(torch.float16).float()
    q = b[..., SCALE * INTERLEAVED:].contiguous().view(torch.int8).view(panels, blocks, OF_BLOCK // 4, INTERLEAVED, 4)
    w = q.permute(0, 3, 1, 2, 4).float() * scales.permute(0, 2, 1)[..., None, None]
    return w.reshape(panels * INTERLEAVED, blocks * OF_BLOCK)


def interleaved_cases():
    def tensors(d):
        bytes_of_blocks = INTERLEAVED * (SCALE + OF_BLOCK)
        return {"a": ((d["m"], d["k"]), "type"), "b_q8_0_interleaved": ((-(-d["n"] // INTERLEAVED), d["k"] // OF_BLOCK, bytes_of_blocks), interleaved_blocks)}

    def multiply(a, w):
        return a.double() @ w.double().T
    params = {"format": "q8_0", "interleaved": str(INTERLEAVED)}
    yield extra("gemm_q", "blocks interleaved", params, tensors, lambda a, b_q8_0_interleaved: multiply(a, weights_of_blocks(b_q8_0_interleaved)),
                lambda d: {"y": (d["m"], d["n"])}, [dict(m=m, n=n, k=k) for m, n, k in ((1, 4096, 4096), (2, 64, 96), (3, 4096, 1024), (16, 2048, 2048))],
                schedule="interleaved", types=("float32",))
    yield extra("gemm_q", "blocks warps", params, tensors, lambda a, b_q8_0_interleaved: multiply(a, weights_of_blocks(b_q8_0_interleaved)),
                lambda d: {"y": (d["m"], d["n"])}, [dict(m=m, n=n, k=k) for m, n, k in ((1, 4096, 4096), (8, 64, 96), (13, 4096, 1024))],
                schedule="warps", types=("bfloat16", "float32"))
    yield extra("gemm_q", "blocks tf32", {**params, "tf32": "true"}, tensors,
                lambda a, b_q8_0_interleaved: multiply(cut_to_tf32(a), cut_to_tf32(weights_of_blocks(b_q8_0_interleaved))),
                lambda d: {"y": (d["m"], d["n"])}, [dict(m=m, n=n, k=k) for m, n, k in ((70, 64, 96), (300, 2048, 1024))], schedule="tf32",
                types=("float32",), tolerance=4)
    def of_columns(names, d):
        bytes_of_blocks = INTERLEAVED * (SCALE + OF_BLOCK)
        return {"x": ((d["m"], d["k"]), "type"),
                **{f"w_{name}_q8_0_interleaved": ((-(-d["n"] // INTERLEAVED), d["k"] // OF_BLOCK, bytes_of_blocks), interleaved_blocks) for name in names}}

    def products(x, weights):
        return tuple(multiply(x, weights_of_blocks(w)) for w in weights)

    def swiglu(x, w_gate_q8_0_interleaved, w_up_q8_0_interleaved):
        gate, up = products(x, (w_gate_q8_0_interleaved, w_up_q8_0_interleaved))
        return gate / (1 + (-gate).exp()) * up

    def projections(x, w_q_q8_0_interleaved, w_k_q8_0_interleaved, w_v_q8_0_interleaved):
        return products(x, (w_q_q8_0_interleaved, w_k_q8_0_interleaved, w_v_q8_0_interleaved))
    of_blocks = {"weights": "blocks", **params}
    few = [dict(m=m, n=n, k=k) for m, n, k in ((1, 4096, 4096), (3, 64, 96), (7, 2048, 1024))]
    yield extra("swiglu", "blocks interleaved", of_blocks, lambda d: of_columns(("gate", "up"), d), swiglu, lambda d: {"y": (d["m"], d["n"])}, few,
                schedule="interleaved", types=("float32",))
    yield extra("qkv_projection", "blocks interleaved", of_blocks, lambda d: of_columns("qkv", d), projections,
                lambda d: {name: (d["m"], d["n"]) for name in "qkv"}, few, schedule="interleaved", types=("float32",))


def others_of_table():
    """Schedules of an op that the table has with others."""
    def like(op, label, schedule, called):
        first = next(c for c in CASES if c.op == op and c.label == label)
        return dataclasses.replace(of_table(first), label=f"{label} {schedule}".strip(), schedule=schedule, checked=called)
    yield like("gemm_q", "int4", "unfused", SOME_PRODUCTS)
    yield like("gemm_fp8", "tensor", "unfused", SOME_PRODUCTS)
    yield like("gemm_int8", "", "skinny", FEW_ROWS)
    yield like("qkv_rope", "", "unfused", FRONTS[1:3])
    yield like("moe_router", "", "unfused", SOME_LOGITS)
    yield like("splade", "", "unfused", POSITIONS[:2])
    yield like("batch_norm", "", "unfused", OF_PIXELS)
    yield like("grouped_gemm", "gated", "simt", EXPERTS[:2])


STRESSED = [*map(of_table, CASES), *attention_cases(), *convolution_cases(), *other_cases(), *interleaved_cases(), *others_of_table()]


def in_order():
    """(index, case, dims, type, library): one size of each library, then another of each, so that a run that is cut short has called all."""
    calls = [(at, case, dims) for case in STRESSED for at, dims in enumerate(case.checked)]
    numbered = [(i, case, dims, case.types[0], case.library(case.types[0]), at) for i, (at, case, dims) in enumerate(calls)]
    return [c[:5] for c in sorted(numbered, key=lambda c: c[5])]

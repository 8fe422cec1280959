"""Cases of attention: of whole sequences, and of few queries over a long cache."""

from .table import case, functional, triton_tiles


def attention_tensors(d):
    return {"q": ((d["n"], d["h"], d["s"], d["d"]), "type"), **{x: ((d["n"], d["hk"], d["keys"], d["d"]), "type") for x in ("k", "v")}}


def attention_flops(part):
    return lambda d: part * 4.0 * d["n"] * d["h"] * d["s"] * d["keys"] * d["d"]


def attend(causal):
    """cuDNN where torch has it for these sizes, else what torch chooses."""
    def call(q, k, v, scale, backend=None):
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
        grouped = q.shape[1] != k.shape[1]
        if q.dtype == torch.float64:  # a reference; the mask is aligned to the last key
            k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
            scores = q @ k.transpose(-1, -2) * scale
            if causal:
                ones = scores.new_ones(scores.shape[-2:]).bool()
                scores = scores.masked_fill(~ones.tril(scores.shape[-1] - scores.shape[-2]), float("-inf"))
            return scores.softmax(-1).nan_to_num(0) @ v
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return functional().scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=grouped)
    return call


def attended(d):
    return {"out": (d["n"], d["h"], d["s"], d["d"])}


ATTENTION = {128: [dict(n=4, h=32, hk=32, s=4096, keys=4096, d=128)], 64: [dict(n=8, h=32, hk=32, s=2048, keys=2048, d=64)]}
ATTENTION_GROUPED = dict(n=4, h=32, hk=8, s=4096, keys=4096, d=128)
for causal in (False, True):
    for d in (128, 64):
        call = attend(causal)
        case("attention", ("causal " if causal else "") + f"d{d}", {"causal": str(causal).lower()}, attention_tensors, call, attended,
             ATTENTION[d] + ([ATTENTION_GROUPED] if causal and d == 128 else []),
             [dict(n=2, h=2, hk=1, s=1, keys=300, d=d), dict(n=1, h=4, hk=2, s=130, keys=130, d=d), dict(n=2, h=3, hk=3, s=257, keys=400, d=d)],
             scalars={"scale": d ** -0.5}, settings={"head_dim": d, **({"ping_pong": "true"} if d == 64 else {})},
             also=[("64 keys", dict(settings=dict(head_dim=128, key_block=64), checked_types=()))] if d == 128 else  # for sm_80
                  [("192 queries", dict(settings=dict(head_dim=64, query_block=192, stages=3, ping_pong="true"), checked_types=()))],
             flops=attention_flops(0.5 if causal else 1.0), checked_types=("float16", "bfloat16"),
             peers={**{name: lambda q, k, v, scale, call=call, b=backend: call(q, k, v, scale, b)
                       for name, backend in (("cuDNN", "CUDNN_ATTENTION"), ("FlashAttention-2", "FLASH_ATTENTION"))},
                    "Triton": lambda q, k, v, scale, causal=causal: triton_tiles().attention(q, k, v, scale, causal)})
# One query a head over a long cache.

def attend(q, k, v, scale, lengths=None):
    import torch
    mask = None if lengths is None else (torch.arange(k.shape[2], device=q.device) < lengths[:, None])[:, None, None]
    y = functional().scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=True)
    return y if lengths is None else y * (lengths > 0)[:, None, None, None].to(y.dtype)


def heads(d):
    cache = (d["batch"], d["key_heads"], d["keys"], d["d"])
    return {"q": ((d["batch"], d["heads"], d["queries"], d["d"]), "type"), "k": (cache, "type"), "v": (cache, "type")}


def attended(d):
    return {"out": (d["batch"], d["heads"], d["queries"], d["d"])}


def head_scale(d):
    return {"scale": d["d"] ** -0.5}


CACHES = [dict(batch=64, heads=32, key_heads=8, queries=1, keys=8192, d=128), dict(batch=1, heads=32, key_heads=8, queries=1, keys=65536, d=128)]
ODD_CACHES = [dict(batch=1, heads=1, key_heads=1, queries=1, keys=1, d=8), dict(batch=2, heads=6, key_heads=2, queries=3, keys=1100, d=80),
              dict(batch=3, heads=4, key_heads=4, queries=1, keys=777, d=64), dict(batch=1, heads=8, key_heads=1, queries=1, keys=513, d=33)]
ODD_CACHES_OF_128 = [dict(batch=2, heads=8, key_heads=2, queries=1, keys=1100, d=128),
                     dict(batch=1, heads=10, key_heads=2, queries=1, keys=5000, d=128),
                     dict(batch=3, heads=4, key_heads=4, queries=1, keys=17, d=128), dict(batch=1, heads=6, key_heads=6, queries=1, keys=4097, d=128)]
case("decode_attention", "", {"padded": "false"}, heads, attend, attended, CACHES, ODD_CACHES, peers={"torch": attend}, sizes=head_scale,
     also=[("heads of 128", dict(settings={"head_dim": 128}, checked_types=(),
                                 checked=[dict(batch=2, heads=8, key_heads=2, queries=1, keys=1100, d=128),
                                          dict(batch=1, heads=6, key_heads=2, queries=3, keys=700, d=128)])),
           ("tensor cores", dict(settings={"head_dim": 128}, schedule="mma", checked_types=("float16", "bfloat16"),
                                 checked=ODD_CACHES_OF_128)),
           ("tensor cores, splits of 4096", dict(settings={"head_dim": 128, "ahead": 2, "split_keys": 4096}, schedule="mma", checked_types=(),
                                                 checked=ODD_CACHES_OF_128))])
case("decode_attention", "lengths", {}, lambda d: {**heads(d), "lengths": ((d["batch"],), "lengths")}, attend, attended, [], ODD_CACHES,
     sizes=head_scale, also=[("tensor cores", dict(settings={"head_dim": 128, "split_keys": 512}, schedule="mma",
                                                            checked_types=("float16", "bfloat16"), checked=ODD_CACHES_OF_128))])

PROMPTS = [dict(batch=4, heads=32, key_heads=32, queries=1024, keys=1024, d=128)]
ODD_PROMPTS = [dict(batch=1, heads=1, key_heads=1, queries=1, keys=1, d=8), dict(batch=2, heads=4, key_heads=2, queries=70, keys=150, d=64),
               dict(batch=1, heads=2, key_heads=1, queries=129, keys=257, d=33)]
case("attention", "unfused", {}, heads, attend, attended, PROMPTS, ODD_PROMPTS, peers={"torch": attend}, schedule="unfused", sizes=head_scale,
     flops=lambda d: 4.0 * d["batch"] * d["heads"] * d["queries"] * d["keys"] * d["d"])

"""Attention."""

import math

from .common import Meaning, functional, on


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

"""Mixtures of experts: products of each expert's rows, beside a loop over the experts and torch's own grouped product."""

from .table import case


def sizes(tokens, top_k, experts, n, k):
    return dict(tokens=tokens, top_k=top_k, experts=experts, n=n, k=k)


# Qwen3-30B-A3B, and its product back: one token, 64, a prompt.
MODEL = [sizes(tokens, 8, 128, 768, 2048) for tokens in (1, 64, 4096)]
BACK = [sizes(tokens, 8, 128, 2048, 768) for tokens in (1, 64, 4096)]
ODD = [sizes(1, 1, 1, 1, 1), sizes(7, 3, 5, 70, 33), sizes(65, 2, 3, 129, 72), sizes(130, 4, 40, 40, 17)]


def rows(d):
    return d["tokens"] * d["top_k"]


def bounds(offsets):
    """On the host, after the first call."""
    if not hasattr(offsets, "bounds"):
        offsets.bounds = offsets.tolist()
    return list(zip(offsets.bounds, offsets.bounds[1:]))


def gated(x, row_index, offsets, w_gate_nk, w_up_nk):
    import torch
    from torch.nn import functional as f
    parts = [(x[row_index[a:b].long()], e) for e, (a, b) in enumerate(bounds(offsets)) if a < b]
    return torch.cat([f.silu(p @ w_gate_nk[e].T) * (p @ w_up_nk[e].T) for p, e in parts])


def gated_at_once(x, row_index, offsets, w_gate_nk, w_up_nk):
    import torch
    gathered = x[row_index.long()]
    gate, up = (torch._grouped_mm(gathered, w.transpose(1, 2), offs=offsets[1:]) for w in (w_gate_nk, w_up_nk))
    return torch.nn.functional.silu(gate) * up


def combined(x, offsets, place, scores, w_nk):
    import torch
    y = torch.cat([x[a:b] @ w_nk[e].T for e, (a, b) in enumerate(bounds(offsets)) if a < b])
    return (y[place.long()].float() * scores[..., None]).sum(1).to(x.dtype)


def combined_at_once(x, offsets, place, scores, w_nk):
    import torch
    y = torch._grouped_mm(x, w_nk.transpose(1, 2), offs=offsets[1:])
    return (y[place.long()].float() * scores[..., None]).sum(1).to(x.dtype)


def weights(d, *names):
    return {name: ((d["experts"], d["n"], d["k"]), "type") for name in names}


case("grouped_gemm", "gated", {"gated": "true", "gather": "true", "activation": "silu"},
     lambda d: {"x": ((d["tokens"], d["k"]), "type"), "row_index": ((rows(d),), "row_index"), "offsets": ((d["experts"] + 1,), "offsets"),
                **weights(d, "w_gate_nk", "w_up_nk")},
     gated, lambda d: {"y": (rows(d), d["n"])}, MODEL, ODD, flops=lambda d: 4.0 * rows(d) * d["n"] * d["k"],
     peers={"a loop over experts": gated, "torch._grouped_mm": gated_at_once})
case("grouped_gemm", "combined", {"combine": "true"},
     lambda d: {"x": ((rows(d), d["k"]), "type"), "offsets": ((d["experts"] + 1,), "offsets"),
                "place": ((d["tokens"], d["top_k"]), "place"), "scores": ((d["tokens"], d["top_k"]), "float32"), **weights(d, "w_nk")},
     combined, lambda d: {"y": (d["tokens"], d["n"])}, BACK, ODD, flops=lambda d: 2.0 * rows(d) * d["n"] * d["k"],
     peers={"a loop over experts": combined, "torch._grouped_mm": combined_at_once})

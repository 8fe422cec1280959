"""Cases of drawn tokens: from logits, and from the largest logits of a product.

A reference in float64 gives the same token, unless a share of weights is as good as at a limit, of which random numbers are not.
"""

from .reduced_products import all_columns
from .table import case, functional, multiply_flops

LARGEST = 64  # of the logits of a product


def kept(values, temperature, top_k, top_p, min_p):
    """Weights of sorted logits [rows, tokens] behind min-p, top-k and top-p; top_k of 0: all."""
    import torch
    x = values / temperature[:, None]
    x = x.masked_fill(x < x[:, :1] + min_p.log()[:, None], float("-inf"))
    place = torch.arange(x.shape[-1], device=x.device)
    weights = torch.softmax(x.masked_fill((place >= top_k[:, None]) & (top_k[:, None] > 0), float("-inf")), -1)
    return weights.masked_fill(weights.cumsum(-1) - weights >= top_p[:, None], 0)


def drawn(weights, uniform):
    """The first place up to which the share of the weights is above the number."""
    import torch
    shares = weights.cumsum(-1)
    return torch.searchsorted(shares, (uniform[:, None] * shares[:, -1:]).contiguous(), right=True)[:, 0].int()


def sampled(logits, uniform, temperature, top_k, top_p, min_p):
    import torch
    values, tokens = (logits if logits.dtype == torch.float64 else logits.float()).sort(dim=-1, descending=True, stable=True)
    weights = kept(values, temperature, top_k, top_p, min_p)
    return drawn(torch.zeros_like(weights).scatter_(-1, tokens, weights), uniform)


def in_order(values, tokens, uniform, temperature, top_k, top_p, min_p):
    """A token of a list of the largest."""
    weights, order = kept(values, temperature, top_k, top_p, min_p), tokens.argsort(-1)
    place = drawn(weights.gather(-1, order), uniform).long()[:, None].clamp(max=tokens.shape[-1] - 1)
    return tokens.gather(-1, order).gather(-1, place)[:, 0].int()


def sampled_of_largest(logits, uniform, temperature, top_k, top_p, min_p):
    """By torch.topk, which asks for a bound."""
    values, tokens = logits.float().topk(min(LARGEST, logits.shape[-1]))
    return in_order(values, tokens, uniform, temperature, top_k, top_p, min_p)


def full(value):
    """All of them that number, or what a function makes of the dimensions."""
    def make(extents, dims, generator):
        import torch
        x = value(dims) if callable(value) else value
        return torch.full(extents, x, device=generator.device, dtype=torch.float32 if isinstance(x, float) else torch.int32)
    return make


def uniform(extents, dims, generator):
    import torch
    return torch.rand(extents, generator=generator, device=generator.device)


def asked(rows, temperature, top_k):
    return {"uniform": ((rows,), uniform), "temperature": ((rows,), full(temperature)), top_k: ((rows,), full(lambda d: d["top_k"])),
            "top_p": ((rows,), full(0.95)), "min_p": ((rows,), full(0.02))}


# Logits as wide apart as those of text; of top-k 1 the largest is all that is wanted.
case("sample", "", {"logprobs": "false"}, lambda d: {"logits": ((d["rows"], d["vocab"]), "type"), **asked(d["rows"], 0.3, "top_k")},
     sampled, lambda d: {"token": (d["rows"],)},
     [dict(rows=rows, vocab=vocab, top_k=top_k) for rows, vocab, top_k in (
         (1, 151936, 50), (1, 151936, 1), (1, 151936, 0), (1, 49152, 50), (16, 151936, 50), (64, 128256, 50))],
     [dict(rows=5, vocab=1, top_k=3), dict(rows=3, vocab=1000, top_k=0), dict(rows=33, vocab=49153, top_k=40), dict(rows=1, vocab=151936, top_k=2)],
     peers={"torch": sampled, "torch.topk": sampled_of_largest}, peer_tolerance=1e9,  # sums of f32 give another token here and there
     types=("float32",), checked_types=())


def integers(extents, dims, generator):
    """Small ones, so that a product is exact in any order, and so are ties."""
    import torch
    return torch.randint(-2, 3, extents, generator=generator, device=generator.device).to(torch.bfloat16)


def sampled_of_product(x, w_nk, columns, uniform, temperature, row_top_k, top_p, min_p):
    values, tokens = (x @ w_nk.T).sort(dim=-1, descending=True, stable=True)
    best = [t[:, :LARGEST] for t in (values, tokens)]
    missing = LARGEST - best[0].shape[-1]
    listed = [functional().pad(t, (0, missing), value=v) for t, v in zip(best, (float("-inf"), -1))]
    return *listed, in_order(*best, uniform, temperature, row_top_k, top_p, min_p)


def sampled_of_linear(x, w_nk, columns, uniform, temperature, row_top_k, top_p, min_p):
    values, tokens = functional().linear(x, w_nk).float().topk(LARGEST)
    return values, tokens.int(), in_order(values, tokens, uniform, temperature, row_top_k, top_p, min_p)


case("gemm_top_k", "draw", {"top_k": str(LARGEST), "draw": "true"},
     lambda d: {"x": ((d["m"], d["k"]), integers), "w_nk": ((d["n"], d["k"]), integers),
                **asked(d["m"], lambda d: 0.6 * d["k"] ** 0.5, "row_top_k")},
     sampled_of_product, lambda d: {"values": (d["m"], LARGEST), "indices": (d["m"], LARGEST), "token": (d["m"],)},
     [dict(m=m, n=151936, k=4096, top_k=50) for m in (1, 16, 256)],
     [dict(m=130, n=264, k=72, top_k=50), dict(m=65, n=1000, k=33, top_k=5), dict(m=1, n=64, k=8, top_k=64), dict(m=2, n=40000, k=64, top_k=1)],
     peers={"torch": sampled_of_linear}, peer_tolerance=1e9, checked_types=(), flops=multiply_flops, sizes=all_columns)

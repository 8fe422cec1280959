"""Products with weights of 4 and 8 bits in groups, beside the same with the weights that they stand for in 16 bits.

Peers are timed without what makes these weights: it is done once.
"""

from .table import case, functional, multiply_flops

GROUP = 128
SIZES = [dict(m=m, n=n, k=k) for m, n, k in ((1, 4096, 4096), (1, 14336, 4096), (1, 4096, 14336), (1, 28672, 8192), (8, 4096, 4096), (8, 14336, 4096),
                                             (8, 28672, 8192), (16, 4096, 4096), (16, 14336, 4096), (64, 14336, 4096), (256, 4096, 4096),
                                             (4096, 4096, 4096))]
ODD = [dict(m=m, n=n, k=k) for m, n, k in ((1, 8, 128), (17, 72, 256), (5, 264, 1152), (130, 136, 384), (300, 520, 640))]


def dequantized(q, scale, kind):
    """[n, k], of integers [n, k]."""
    n, k = q.shape
    return (q.float().view(n, k // GROUP, GROUP) * scale.float()[:, :, None]).to(kind).view(n, k)


def of_int4(b):
    """Byte i of 16 has element i in its low bits and element i + 16 in its high ones."""
    import torch
    n, bytes_of_column = b.shape
    halves = b.view(n, bytes_of_column // 16, 1, 16)
    return torch.cat([halves & 15, halves >> 4], 2).reshape(n, -1).int() - 8


def weights(b, scale, kind):
    import torch
    return dequantized(of_int4(b) if b.dtype == torch.uint8 else b, scale, kind)


def multiply(a, b, scale):
    """What torch multiplies, with the weights that its first call made."""
    if not hasattr(b, "stands_for"):
        b.stands_for = weights(b, scale, a.dtype)
    return functional().linear(a, b.stands_for)


for name, columns, what in (("int4", 2, "uint8"), ("int8", 1, "int8")):
    # The reference reads scales as float32; they were of the type of the rows, and so is what they make.
    case("gemm_q", name, {"format": name, "rounded": "true", "group_size": str(GROUP)},
         lambda d, name=name, columns=columns, what=what: {
             "a": ((d["m"], d["k"]), "type"), f"b_{name}": ((d["n"], d["k"] // columns), what), "b_scale": ((d["n"], d["k"] // GROUP), "type")},
         lambda a, b_scale, name=name, **b: a @ weights(b[f"b_{name}"], b_scale, b_scale.dtype).T,
         lambda d: {"y": (d["m"], d["n"])}, SIZES, ODD, flops=multiply_flops, checked_types=("float16", "bfloat16"), tolerance=2.0,
         peers={"cuBLAS in 16 bits": lambda a, b_scale, name=name, **b: multiply(a, b[f"b_{name}"], b_scale)})

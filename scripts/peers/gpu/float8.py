"""Products of numbers of 8 bits (e4m3), with scales of all, of rows and columns, and of blocks, beside torch's (cuBLASLt, CUTLASS)."""

from .table import case, functional, multiply_flops

BLOCK = 128
SIZES = [dict(m=m, n=n, k=k) for m, n, k in ((1, 4096, 4096), (16, 4096, 4096), (16, 14336, 4096), (64, 14336, 4096), (256, 4096, 4096),
                                             (1024, 4096, 7168), (4096, 4096, 4096), (4096, 7168, 16384), (8192, 8192, 8192))]
ODD = [dict(m=m, n=n, k=k) for m, n, k in ((1, 16, 16), (17, 72, 80), (5, 264, 1152), (130, 136, 384), (300, 520, 640), (257, 1040, 16400))]
FEW = dict(rows=64, columns=128)


def numbers(d):
    return {"a": ((d["m"], d["k"]), "float8_e4m3fn"), "b_nk": ((d["n"], d["k"]), "float8_e4m3fn")}


def blocks(extent):
    return -(-extent // BLOCK)


def spread(scale, rows, columns):
    """A scale for each element, of blocks of scales."""
    return scale.repeat_interleave(rows, 0).repeat_interleave(columns, 1)


def multiply(a, b_nk, scale_a, scale_b, fast):
    import torch
    return torch._scaled_mm(a, b_nk.T, scale_a=scale_a, scale_b=scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast)


def once(tensor, name, make):
    if not hasattr(tensor, name):
        setattr(tensor, name, make())
    return getattr(tensor, name)


def of_all(a, a_scale):
    import torch
    return once(a, f"scale_{a_scale}", lambda: torch.tensor(a_scale, device=a.device))


def outer_last(scale):
    """As cuBLASLt wants scales of blocks: neighbours are those of neighbouring rows."""
    return once(scale, "outer_last", lambda: scale.T.contiguous().T)


def in_halves(a, b_nk):
    """The same without scales, of bfloat16."""
    import torch
    return functional().linear(once(a, "in_half", lambda: a.to(torch.bfloat16)), once(b_nk, "in_half", lambda: b_nk.to(torch.bfloat16)))


SCALES = {"a_scale": 0.125, "b_scale": 0.25}
SCALINGS = {
    "tensor": (lambda d: numbers(d), lambda a, b_nk, a_scale, b_scale: a @ b_nk.T * (a_scale * b_scale),
               lambda fast: lambda a, b_nk, a_scale, b_scale: multiply(a, b_nk, of_all(a, a_scale), of_all(b_nk, b_scale), fast)),
    "row": (lambda d: {**numbers(d), "a_scale_row": ((d["m"],), "positive"), "b_scale_column": ((d["n"],), "positive")},
            lambda a, b_nk, a_scale_row, b_scale_column: a @ b_nk.T * a_scale_row[:, None] * b_scale_column,
            lambda fast: lambda a, b_nk, a_scale_row, b_scale_column: multiply(a, b_nk, a_scale_row[:, None], b_scale_column[None], fast)),
    "block": (lambda d: {**numbers(d), "a_scale_block": ((d["m"], blocks(d["k"])), "positive"),
                         "b_scale_block": ((blocks(d["n"]), blocks(d["k"])), "positive")},
              lambda a, b_nk, a_scale_block, b_scale_block: (a * spread(a_scale_block, 1, BLOCK)[:, :a.shape[1]]) @
              (b_nk * spread(b_scale_block, BLOCK, BLOCK)[:b_nk.shape[0], :a.shape[1]]).T,
              lambda fast: lambda a, b_nk, a_scale_block, b_scale_block: multiply(a, b_nk, outer_last(a_scale_block), b_scale_block.T, fast)),
}
for scaling, (tensors, reference, scaled) in SCALINGS.items():
    case("gemm_fp8", scaling, {"scaling": scaling}, tensors, reference, lambda d: {"y": (d["m"], d["n"])}, SIZES, ODD,
         scalars=SCALES if scaling == "tensor" else {}, flops=multiply_flops, checked_types=("float32", "bfloat16"), tolerance=2.0,
         peers={"torch": scaled(False), "torch, fast sums": scaled(True), "torch, bfloat16": lambda a, b_nk, **_: in_halves(a, b_nk)})


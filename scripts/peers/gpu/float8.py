"""Products of numbers of 8 bits (e4m3), with scales of all, of rows and columns, and of blocks, beside torch's (cuBLASLt, CUTLASS), and
what makes their operands: norms and SwiGLU with such results."""

from .table import ODD_PRODUCTS, ODD_ROWS, ROWS, case, functional, multiply_flops, rows_and_columns, swiglu, weight

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


def quantised(h, rounded=True):
    """By a scale of each row, and each BLOCK columns of a row: the numbers, rounded where asked, and the scales."""
    import torch
    largest = torch.finfo(torch.float8_e4m3fn).max

    def by(groups):
        scale = groups.abs().amax(-1) / largest
        q = groups / scale[..., None]
        return (q.to(torch.float8_e4m3fn) if rounded else q), scale

    def row():
        return by(h)

    def block():
        rows, columns = h.shape
        q, scale = by(functional().pad(h, (0, blocks(columns) * BLOCK - columns)).view(rows, -1, BLOCK))
        return q.reshape(rows, -1)[:, :columns], scale
    return {"row": row, "block": block}


def quantising(function, scaling, rounded):
    """The results of `function`, in f32 up to there, in 8 bits."""
    def call(**values):
        return quantised(function(**values).float(), rounded)[scaling]()
    return call


for scaling in ("row", "block"):
    def with_scales(rows, columns, scaling=scaling):
        return lambda d: {"y": (d[rows], d[columns]), f"{scaling}_scale": (d[rows],) if scaling == "row" else (d[rows], blocks(d[columns]))}

    def normed(x, weight, eps):
        return functional().rms_norm(x.float(), weight.shape, weight.float(), eps)

    def gated(x, w_gate_nk, w_up_nk):
        return swiglu(x, w_gate_nk, w_up_nk)

    params = {"output": "float8_e4m3", "scaling": scaling}
    case("rms_norm", f"e4m3 {scaling}", params, rows_and_columns(weight="cols"), quantising(normed, scaling, False), with_scales("rows", "cols"),
         ROWS, ODD_ROWS, scalars={"eps": 1e-6}, tolerance=2.0, checked_types=("bfloat16",), bytes_are="float8_e4m3fn",
         peers={"torch": quantising(normed, scaling, True)})
    case("swiglu", f"e4m3 {scaling}", {"weights": "nk", **params}, lambda d: {"x": ((d["m"], d["k"]), "type"), **weight(d, "w_gate_nk", "w_up_nk")},
         quantising(gated, scaling, False), with_scales("m", "n"), [dict(m=4096, n=11008, k=4096)], ODD_PRODUCTS, tolerance=4.0,
         checked_types=("bfloat16",), bytes_are="float8_e4m3fn", flops=lambda d: 2 * multiply_flops(d),
         peers={"torch": quantising(gated, scaling, True)})

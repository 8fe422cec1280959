"""GEMM: with weights packed ahead, as they are, and with epilogues. The weights that peers get
are w [n, k], as torch.nn.Linear stores them."""

from .. import onednn, openblas
from ..entry import nodes, op
from ..frameworks import F, torch

FAMILY = "GEMM"


def pack_into(packed, w):
    """w [n, k] into panels [panels, k / group, panel, group] (or [panels, k, panel]), padded with zeros:
    `group` neighbours of k lie side by side, as dot products of pairs or fours want them."""
    panel, group = (packed.shape[2], packed.shape[3]) if packed.dim() == 4 else (packed.shape[2], 1)
    n, k = w.shape
    padded = F.pad(w, (0, -k % group, 0, -n % panel))
    packed.copy_(padded.view(-1, panel, padded.shape[1] // group, group).transpose(1, 2).reshape(packed.shape))


def weights(n, k, dtype, **buffers):
    """The same w for every layout: written to those of b, b_nk and b_packed that the kernel takes."""
    w = ((torch.rand(n, k, generator=torch.Generator().manual_seed(7)) - 0.5) * 2).to(dtype)
    if buffers.get("b") is not None:
        buffers["b"].copy_(w.T)
    if buffers.get("b_nk") is not None:
        buffers["b_nk"].copy_(w)
    if buffers.get("b_packed") is not None:
        pack_into(buffers["b_packed"], w)
    return {"w": w}


def prepare(n, k, dtype, b=None, b_nk=None, b_packed=None):
    return weights(n, k, dtype, b=b, b_nk=b_nk, b_packed=b_packed)


CUBES = ["m=1024,n=1024,k=1024", ("m=4096,n=4096,k=4096", "f32 bf16")]
LAYERS = ["m=256,n=1536,k=384"]
FEW_ROWS = [("m=1,n=4096,k=4096", "f32 bf16"), ("m=8,n=4096,k=4096", "f32 bf16"), "m=16,n=1152,k=384"]
COMMON = dict(family=FAMILY, constants="w bias", prepare=prepare)

op("gemm", label="plain", shapes=[("m=1024,n=1024,k=1024", "f32 bf16"), ("m=4096,n=4096,k=4096", "f32 bf16")],
   torch=lambda a, w: F.linear(a, w),
   onnx=lambda w: nodes(("MatMul", ["a", "w_kn"], ["result0"], {}), w_kn=w.T),
   onednn=lambda a, w: onednn.linear(a, w), **COMMON)

op("gemm", label="weights as they are", shapes=[("m=1024,n=1024,k=1024", "f32 bf16"), ("m=4096,n=4096,k=4096", "f32")],
   schedules=("kn",),
   family=FAMILY, prepare=prepare,
   torch=lambda a, b: a @ b,
   onnx=lambda: nodes(("MatMul", ["a", "b"], ["result0"], {})),
   openblas=lambda a, b: openblas.gemm(a, b))

op("gemm", label="bias GELU", shapes=[("m=1024,n=1024,k=1024", "f32 f16 bf16"), *LAYERS],
   params={"add_bias": "true", "activation": "gelu_erf"},
   torch=lambda a, w, bias: F.gelu(F.linear(a, w, bias)),
   onednn=lambda a, w, bias: onednn.linear(a, w, bias, [("eltwise", onednn.GELU_ERF)]), **COMMON)

op("gemm", label="bias GELU, few rows", shapes=FEW_ROWS, schedules=("", "nk"),
   params={"add_bias": "true", "activation": "gelu_erf"},
   torch=lambda a, w, bias: F.gelu(F.linear(a, w, bias)),
   onednn=lambda a, w, bias: onednn.linear(a, w, bias, [("eltwise", onednn.GELU_ERF)]), **COMMON)

op("gemm", label="bias residual", shapes=["m=256,n=384,k=1536"],
   params={"add_bias": "true", "add_residual": "true"},
   torch=lambda a, w, bias, residual: F.linear(a, w, bias) + residual,
   onednn=lambda a, w, bias, residual: onednn.linear(a, w, bias, residual=residual), **COMMON)

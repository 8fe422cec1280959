"""Several products and what lies between them."""

from .. import onednn
from ..entry import op
from ..frameworks import F, torch
from .weights import linear

FAMILY = "blocks"


def skinny(m):
    return ("", "nk") if m <= 16 else ("",)


def gated(x, w_gate, w_up):
    """silu(x w_gate) * (x w_up), the second product with the first one's result as a post-op."""
    gate = onednn.linear(x, w_gate, post=[("eltwise", onednn.SWISH)])
    return onednn.chain(gate, onednn.linear(x, w_up, post=[("binary", onednn.MUL, gate[1])]))


op("swiglu", family=FAMILY, schedules=skinny, constants="w_gate w_up",
   shapes=[("m=1,n=11008,k=4096", "f32 bf16"), ("m=8,n=11008,k=4096", "f32 bf16"), "m=256,n=2816,k=1024"],
   prepare=lambda v: {w: linear(v, w, v["n"], v["k"]) for w in ("w_gate", "w_up")},
   torch=lambda x, w_gate, w_up: F.silu(F.linear(x, w_gate)) * F.linear(x, w_up),
   onednn=gated)

op("rms_norm_gemm", family=FAMILY, schedules=skinny, constants="w",
   shapes=[("m=1,n=4096,k=4096", "f32 bf16"), "m=256,n=1024,k=1024"],
   prepare=lambda v: {"w": linear(v, "w", v["n"], v["k"])},
   torch=lambda x, w, k, eps: F.linear(F.rms_norm(x, (k,), None, eps), w),
   spelled=lambda x, w, eps: F.linear(rms_norm(x, eps), w))

def block(label, shapes, params):
    op("swiglu_mlp", label=label, family=FAMILY, constants="w_gate w_up w_down", shapes=shapes, params=params,
       prepare=lambda v: {"w_gate": linear(v, "w_gate", v["hidden"], v["k"]),
                          "w_up": linear(v, "w_up", v["hidden"], v["k"]),
                          "w_down": linear(v, "w_down", v["n"], v["hidden"])},
       torch=lambda x, w_gate, w_up, w_down, residual, k, eps: mlp(
           F.rms_norm(x, (k,), None, eps), w_gate, w_up, w_down, residual),
       spelled=lambda x, w_gate, w_up, w_down, residual, eps: mlp(rms_norm(x, eps), w_gate, w_up, w_down, residual))


ONE_ROW, MANY = "m=1,hidden=11008,k=4096,n=4096", "m=256,hidden=2816,k=1024,n=1024"
block("", [(ONE_ROW, "f32 bf16"), MANY], {})
# As torch has it: what goes to the second product rounded to bf16.
block("rounded h", [(ONE_ROW, "bf16"), (MANY, "bf16")], {"h_type": "bf16"})


def rms_norm(x, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def mlp(h, w_gate, w_up, w_down, residual):
    return F.linear(F.silu(F.linear(h, w_gate)) * F.linear(h, w_up), w_down) + residual

"""Products with weights of 4 and 8 bits, beside the same with the weights that they stand for."""

from ..entry import op
from ..frameworks import F, torch

FAMILY = "GEMM"
SIZES = ["m=1,n=11008,k=4096", "m=4,n=11008,k=4096"]
SCALE = 0.02


def scale_bytes():
    return torch.tensor([SCALE], dtype=torch.float16).view(torch.uint8)


def from_q4_0(blocks):
    q = torch.cat([blocks[..., 2:] & 15, blocks[..., 2:] >> 4], -1).int() - 8
    return (q * SCALE).flatten(1)


def from_q8_0(blocks):
    return (blocks[..., 2:].contiguous().view(torch.int8).int() * SCALE).flatten(1)


def prepare(name, unpack, weights):
    """Gives all blocks a scale, and unpacks those called argument_NAME, by the names of what they stand for."""
    def prepared(v):
        result = {}
        for argument, w in weights.items():
            blocks = v[f"{argument}_{name}"]
            blocks[..., :2] = scale_bytes()
            result[w] = unpack(blocks).to(v["dtype"])
        return result
    return prepared


for name, unpack in (("q4_0", from_q4_0), ("q8_0", from_q8_0)):
    op("gemm_q", label=name, family=FAMILY, shapes=SIZES, types="f32 bf16", params={"format": name}, prepare=prepare(name, unpack, {"b": "w"}),
       constants="w", onnx=None, torch=lambda a, w: F.linear(a, w))
    op("qkv_projection", label=name, family="blocks", shapes=["m=1,n_q=4096,n_kv=1024,depth=4096"], types="f32 bf16", schedules=("blocks",),
       params={"format": name}, prepare=prepare(name, unpack, {f"w_{i}": f"w_{i}" for i in "qkv"}), constants="w_q w_k w_v", onnx=None,
       torch=lambda x, w_q, w_k, w_v: (F.linear(x, w_q), F.linear(x, w_k), F.linear(x, w_v)))
    op("swiglu", label=name, family="blocks", shapes=SIZES, types="f32 bf16", schedules=("blocks",), params={"format": name},
       prepare=prepare(name, unpack, {"w_gate": "w_gate", "w_up": "w_up"}), constants="w_gate w_up", onnx=None,
       torch=lambda x, w_gate, w_up: F.silu(F.linear(x, w_gate)) * F.linear(x, w_up))

"""Case `index` of a seed: the same whatever else is drawn.

Ops take turns: each cycle of WEIGHTS has every op once, then those that models spend their time in once more or several
times, both in an order that the seed decides. The main size of an op's cases goes evenly through the logarithm of its range
(golden-ratio steps from a start that the seed decides), so that few cases cover it, too.
"""

from . import attention, images, products, rows
from .case import Case
from .numbers import Numbers
from .rules import broken, too_large

OPS = {**rows.OPS, **products.OPS, **attention.OPS, **images.OPS}
MORE = {"gemm": 4, "attention": 3, "decode_attention": 2, "conv2d": 2, "rms_norm": 1, "layer_norm": 1, "softmax": 1, "swiglu": 1, "qkv_projection": 1,
        "swiglu_mlp": 1, "gemm_int8": 1}
# Ops of the registry of which no cases are drawn yet: what they compute stands in no torch_ops file.
UNDRAWN = ("rope", "qkv_rope", "gemm_fp8", "gemm_q", "sample", "expert_sort", "grouped_gemm")
CYCLE = len(OPS) + sum(MORE.values())
GOLDEN = 0.6180339887498949


def op_of(seed, index):
    """The op of a case, and how many of that op come before it."""
    cycle, at = divmod(index, CYCLE)

    def order(c):
        numbers = Numbers(seed, "order", c)
        return numbers.shuffled(OPS) + numbers.shuffled([op for op, times in MORE.items() for _ in range(times)])
    now = order(cycle)
    return now[at], cycle * (1 + MORE.get(now[at], 0)) + now[:at].count(now[at])


def fitted(fields, target):
    """The case, with sizes halved that may be, until it is small enough; None where that does not do."""
    shrinks = fields.pop("shrinks")
    case = Case(**fields)
    for name in shrinks:
        while too_large(case, target) and case.dims[name] > 1:
            case.dims[name] = case.dims[name] // 2
            if case.op == "softmax" and case.params.get("causal"):
                case.dims["rows"] = case.dims["cols"]
            if case.layout == "fused" or case.params.get("causal") == "true" and case.op == "attention" and case.dims["keys"] < case.dims["queries"]:
                case.dims["keys"] = case.dims["queries"] = min(case.dims["keys"], case.dims["queries"])
    return None if broken(case, target) else case


def draw(seed, index, target):
    op, before = op_of(seed, index)
    u = (Numbers(seed, op, "start").uniform() + GOLDEN * before) % 1
    for attempt in range(1000):
        case = fitted(OPS[op](Numbers(seed, index, attempt), u, target), target)
        if case:
            case.index = index
            return case
    raise AssertionError(f"no case of {op} fits {target}")


def sweep(seed, first, count, target):
    return [draw(seed, i, target) for i in range(first, first + count)]

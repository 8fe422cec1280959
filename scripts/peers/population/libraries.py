"""What is asked of `halyard build` for a case: the default library of its op, type and parameters, and no number of a schedule."""

import hashlib

# What a CUDA library of the op takes besides the parameters that a case draws: 8 bits as dynamic quantisation has them.
ON_GPU = {"gemm_int8": {"a_type": "int8", "scaling": "row"}, "swiglu_int8": {"x_type": "int8", "scaling": "row"},
          "qkv_projection_int8": {"x_type": "int8", "scaling": "row"}}
DEFAULT_HEAD = 128  # that schedules/cuda/attention.lua takes when it is not told


def cuda(case):
    """(params, settings, schedule)"""
    params = {"type": case.type, **ON_GPU.get(case.op, {}), **case.params}
    settings = {}
    if case.op == "attention" and case.dims["d"] != DEFAULT_HEAD:
        settings["head_dim"] = case.dims["d"]  # a property of the model, as the types are
    return params, settings, "nk" if params.get("weights") == "nk" else ""


def name(case):
    """Of the library, and of its function."""
    asked = cuda(case)
    text = repr([case.op, *[sorted(part.items()) if isinstance(part, dict) else part for part in asked]])
    return f"{case.op}_{case.type}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"

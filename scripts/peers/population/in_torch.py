"""What each op computes, in torch: the tensors of a case, and the functions that peers call.

`meaning(case)` has the tensors by the names of the CUDA libraries' arguments, extents outermost first, with what fills them;
the results; the scalars; `function(v)`, the op itself, which is reference and peer at once; and further ways to compute it
(`more`), which may have something made ahead of the calls (`ahead`).
"""

from .torch_ops import attention, images, int8, products, rows

OPS = {"rms_norm": lambda c: rows.norm(c, False), "layer_norm": lambda c: rows.norm(c, True), "conv2d": lambda c: images.convolution(c, False),
       "conv2d_int8": lambda c: images.convolution(c, True), "depthwise_conv2d": lambda c: images.depthwise(c, False),
       "depthwise_conv2d_int8": lambda c: images.depthwise(c, True)}
for family, names in ((rows, "softmax cross_entropy bias_activation transpose"), (images, "batch_norm group_norm"), (attention, "attention decode_attention"),
                      (products, "gemm swiglu qkv_projection gemm_reduce linear_cross_entropy gemm_top_k moe_router splade rms_norm_gemm swiglu_mlp"),
                      (int8, "gemm_int8 swiglu_int8 qkv_projection_int8 swiglu_mlp_int8")):
    OPS.update((name, getattr(family, name)) for name in names.split())


def meaning(case):
    return OPS[case.op](case)

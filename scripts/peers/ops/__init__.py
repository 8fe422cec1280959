"""The table, a file a family."""

from . import attention, blocks, blocks_of_weights, convolution, elementwise, experts, gemm, int8, norms, positions, softmax  # noqa: F401

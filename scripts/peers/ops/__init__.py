"""The table, a file a family."""

from . import attention, blocks, blocks_of_weights, convolution, elementwise, experts, float8, gemm, int8, norms, positions, softmax  # noqa: F401

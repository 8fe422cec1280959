"""The table, a file a family."""

from . import attention, blocks, convolution, elementwise, gemm, int8, norms, softmax  # noqa: F401

"""The table, a file a family."""

from . import attention, blocks, convolution, elementwise, gemm, norms, softmax  # noqa: F401

"""The table, a file a family."""

from . import attention, gemm, norms, softmax  # noqa: F401

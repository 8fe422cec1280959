"""What each op of ONNX becomes: a table by name, filled by the modules here."""

from lowering.builder import OPS, Builder
from lowering import attend, contents, einsum, elementwise, moves, products, quantised, recurrent, reductions, selection, spectral  # noqa: F401  they fill the table

__all__ = ["OPS", "Builder", "attend", "contents"]

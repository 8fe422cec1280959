"""Halyard: ops as ready machine code, scheduled by Lua, for every array that speaks DLPack.

    import halyard
    norm = halyard.op("rms_norm", type="bfloat16")   # built once, then found in the cache
    y = norm(x, w, eps=1e-6)                         # numpy, torch, JAX, CuPy: no copies

halyard.torch has the same ops for torch.compile and torch.export.
"""

from ._command import Error, __version__
from ._library import ops, set_num_threads
from ._model import Model, compile_model
from ._native import Buffer, synchronize
from ._op import Op, op
from ._pages import explain, explore, schedule, show

__all__ = ["Buffer", "Error", "Model", "Op", "__version__", "compile_model", "explain", "explore", "op", "ops", "schedule", "set_num_threads", "show",
           "synchronize"]

"""torch where it is installed and wanted, otherwise None: entries import it from here."""

import os

torch = F = None
if not os.environ.get("HALYARD_NO_PEERS"):
    try:
        import torch  # noqa: F401
        import torch.nn.functional as F  # noqa: F401
    except ImportError:
        pass

"""torch where it is installed and wanted, otherwise None: entries import it from here."""

import os

torch = F = None
if not os.environ.get("HALYARD_NO_PEERS"):
    try:
        import torch
        import torch.nn.functional as F
    except ImportError:
        pass

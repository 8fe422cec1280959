"""What a library says that it chose for a call (halyard_set_verbose, on standard error)."""

import os
import tempfile

MOST = 300  # characters


def said_by(call, verbose):
    """Calls it once, and returns what came on standard error meanwhile; None if nothing. `verbose`: halyard_set_verbose of its runtime."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as f:
        os.dup2(f.fileno(), 2)
        try:
            verbose(1)
            call()
        finally:
            verbose(0)
            os.dup2(kept, 2)
            os.close(kept)
        f.seek(0)
        return f.read().decode(errors="replace").strip()[:MOST] or None

"""What a library says that it chose for a call, where it says so (HALYARD_VERBOSE=1, on standard error)."""

import os
import tempfile

MOST = 300  # characters


def said_by(call):
    """Calls it once, and returns what came on standard error meanwhile; None if nothing."""
    before = os.environ.get("HALYARD_VERBOSE")
    kept = os.dup(2)
    with tempfile.TemporaryFile() as f:
        os.environ["HALYARD_VERBOSE"] = "1"
        os.dup2(f.fileno(), 2)
        try:
            call()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            if before is None:
                del os.environ["HALYARD_VERBOSE"]
            else:
                os.environ["HALYARD_VERBOSE"] = before
        f.seek(0)
        return f.read().decode(errors="replace").strip()[:MOST] or None

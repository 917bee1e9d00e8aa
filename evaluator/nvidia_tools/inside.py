"""The tool's child in the sandbox: gives up the rights that only its parent needs, then becomes a worker."""

import json
import os
import sys

from evaluator.sandbox.levels.strict import give_up


def main(channel: int, remains: int, log: int) -> int:
    """Serve the judge on the descriptor `channel` until it hangs up. `remains` holds the rights that remain.

    The `log` is for the parent to write. The archive with the code stays open: tracebacks read it.
    """
    with os.fdopen(remains, encoding="utf-8") as file:
        give_up([(path, access) for path, access in json.load(file)])
    # Only now: importing PyTorch starts threads, which would keep the rights.
    from evaluator.nvidia_tools import copying

    os.close(log)
    del sys.path[0]
    sys.path_importer_cache.clear()
    sys.argv = ["worker"]
    return copying.main(channel)

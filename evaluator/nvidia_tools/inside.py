"""The child of the tool inside the sandbox: gives up what only its parent needs, then becomes a worker."""

import json
import os
import sys

from evaluator.sandbox.levels.strict import give_up


def main(channel: int, remains: int, log: int) -> int:
    """Serve the judge on the descriptor `channel` until it hangs up. `remains` holds what may be done from now on.

    The `log` is the parent's to write. The archive that the code came from stays open: a traceback is made from it.
    """
    with os.fdopen(remains, encoding="utf-8") as file:
        give_up([(path, access) for path, access in json.load(file)])
    # Only now: importing PyTorch starts threads, which would keep what has not been given up.
    from evaluator.worker import copying

    os.close(log)
    del sys.path[0]
    sys.path_importer_cache.clear()
    sys.argv = ["worker"]
    return copying.main({"channel": channel})

"""A few starts of CUDA at a time on the machine, across all of its processes and users."""

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterator

from evaluator.judge.device.device_lock import POLL_S, lock_any, open_all

STARTS = 2
"""How many start CUDA at a time on one machine. The driver starts 2.3 contexts a second one after the other, 4.3 on one GPU where four ask
at once, 5.0 on two where eight do. Meanwhile a judge that has a device waits 15 to 34 times as long for memory to share."""
TURN_S = 5.0
"""After so long a turn is over, whether CUDA has started or not: a submission may keep its worker from starting it."""
PATIENCE_S = 60.0
"""The longest wait for a turn."""


@contextlib.contextmanager
def cuda_start_turn() -> Iterator[None]:
    """Wait for a turn at starting CUDA, and hold it meanwhile, for TURN_S at the most. Where no lock file can be opened, don't wait.

    For judges that have no device yet. A judge that has one takes no turn.
    """
    turns: list[int] = []
    with contextlib.suppress(OSError):
        turns = open_all([f"assay-start-{number}.lock" for number in range(STARTS)])
    over = threading.Timer(TURN_S, _unlock, [turns])
    try:
        until = time.monotonic() + PATIENCE_S
        while turns and lock_any(turns) is None and time.monotonic() < until:
            time.sleep(POLL_S)
        over.start()
        yield
    finally:
        over.cancel()
        if over.ident is not None:
            over.join()
        _unlock(turns)
        for turn in turns:
            os.close(turn)


def _unlock(descriptors: list[int]) -> None:
    """A close alone would leave a lock with any child that was forked meanwhile."""
    for descriptor in descriptors:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

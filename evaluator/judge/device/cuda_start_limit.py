"""Limits concurrent starts of CUDA on the machine, for all processes and users, and prevents them during a timing on the same device."""

import contextlib
import fcntl
import os
import re
import threading
import time
from collections.abc import Iterator

from evaluator.judge.device.device_lock import POLL_S, lock_any, open_all
from evaluator.log import waiting

STARTS = 2
"""Concurrent starts of CUDA on one machine. The driver starts 2.3 contexts per second one after the other, 4.3 on one GPU with four at
once, 5.0 on two GPUs with eight. Meanwhile a judge that has a device waits 15 to 34 times as long for memory to share."""
TURN_S = 5.0
"""A turn ends after this time, even if CUDA has not started: a submission may prevent its worker from starting it."""
PATIENCE_S = 60.0
"""Maximum wait for a turn, and for the end of a timing."""
QUIET_WITHIN_S = 1.0
"""Maximum wait of a timing for starts to end: an honest start takes a quarter of a second."""


@contextlib.contextmanager
def cuda_start_turn(device_id: str) -> Iterator[None]:
    """Wait for a turn to start CUDA on this device, and hold it in the body of `with`, for at most TURN_S. Without lock files, don't wait.

    For judges that have no device yet. A judge that has one takes no turn.
    """
    turns: list[int] = []
    timings: list[int] = []
    with contextlib.suppress(OSError):
        turns = open_all([f"assay-start-{number}.lock" for number in range(STARTS)])
        timings = open_all([_timing_name(device_id)])
    over = threading.Timer(TURN_S, _unlock, [turns + timings])
    try:
        until = time.monotonic() + PATIENCE_S
        with waiting("a turn to start CUDA"):
            while not _have_both(turns, timings) and time.monotonic() < until:
                time.sleep(POLL_S)
        over.start()
        yield
    finally:
        over.cancel()
        if over.ident is not None:
            over.join()
        _close(turns + timings)


@contextlib.contextmanager
def no_cuda_starts(device_id: str) -> Iterator[None]:
    """Delay starts of CUDA on this device during a timing on it. Wait for starts that have begun, for at most QUIET_WITHIN_S."""
    timings: list[int] = []
    with contextlib.suppress(OSError):
        timings = open_all([_timing_name(device_id)])
    try:
        until = time.monotonic() + QUIET_WITHIN_S
        while timings and lock_any(timings) is None and time.monotonic() < until:
            time.sleep(POLL_S)
        yield
    finally:
        _close(timings)


def _have_both(turns: list[int], timings: list[int]) -> bool:
    """Lock a turn, and the device against a timing: both or neither, so that no timing waits for a process that waits for a turn."""
    if not timings or lock_any(timings, fcntl.LOCK_SH) is not None:
        if not turns or lock_any(turns) is not None:
            return True
        _unlock(timings)
    return False


def _timing_name(device_id: str) -> str:
    return f"assay-{re.sub(r'[^A-Za-z0-9-]', '_', device_id)}-timing.lock"


def _close(descriptors: list[int]) -> None:
    _unlock(descriptors)
    for descriptor in descriptors:
        os.close(descriptor)


def _unlock(descriptors: list[int]) -> None:
    """Unlock and close. After a close alone, a child that was forked meanwhile would keep the lock."""
    for descriptor in descriptors:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

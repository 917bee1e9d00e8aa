"""Gives the threads that answer calls more of the CPU than the judges."""

import os
import threading
from collections.abc import Callable

from evaluator.engine.local import LocalEngine

YIELDING = 5
"""Nice value added to judges, workers and compilers; the same for a candidate and its baseline."""


def yielding(call: Callable[[], object]) -> None:
    """Call it in a thread of its own with a lower CPU priority, which is permanent. Processes that it starts inherit it."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + YIELDING)
    call()


def start(engine: LocalEngine) -> None:
    """Start the fork server with a lower priority, so that judges don't delay answers. Raises what the engine's start raises."""
    failed: list[Exception] = []

    def begin() -> None:
        try:
            engine.start()
        except Exception as error:  # noqa: BLE001 - it is raised to the waiting caller
            failed.append(error)

    thread = threading.Thread(target=yielding, args=(begin,), name="start", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]

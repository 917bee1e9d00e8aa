"""Gives the threads that answer calls more of the CPU than the judges."""

import os
import threading
from collections.abc import Callable

from evaluator.engine.local import LocalEngine

YIELDING = 5
"""By how much judges, workers and compilers are nicer than the process that answers calls; a candidate and its baseline alike."""


def yielding(call: Callable[[], object]) -> None:
    """Call it with less of a claim to the processor, which processes that it starts inherit, for good: in a thread of its own."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + YIELDING)
    call()


def start(engine: LocalEngine) -> None:
    """Start the warm parents with a lower priority, so that judges don't delay answers. Raises what the engine's start raises."""
    failed: list[Exception] = []

    def begin() -> None:
        try:
            engine.start()
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            failed.append(error)

    thread = threading.Thread(target=yielding, args=(begin,), name="start", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]

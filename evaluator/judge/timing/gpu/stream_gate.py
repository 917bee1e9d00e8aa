"""The gate: calls on a GPU wait at it, in their order, until the judge opens it (nvbench's blocking kernel).

A request's calls are enqueued behind the gate. When all are, the judge's clock starts, the inputs come, and the gate opens. So the clock
shows the device's time and not the host's, and no call can be computed ahead, as there are no inputs yet.

The gate is a word of host memory that a CPU opens. A kernel of the judge would be slower: the clock includes each change of the device
from one process to another.
"""

import logging
import os
import secrets
import time
from collections.abc import Callable

import torch

from evaluator.judge.workers.shared_memory import HostAllocation, SharedMemory
from evaluator.worker.gate import MappedGate

MAX_VALUE = (1 << 31) - 1
PAGE_BYTES = 4096
MOST_AT_ONCE = 256
"""Copies that the judge has wait for one moment: a quarter of what the device's queue holds."""


log = logging.getLogger(__name__)


class StreamGate:
    """A word of the judge's memory. Streams of its device wait until it holds what was drawn for the request."""

    def __init__(self, memory: SharedMemory) -> None:
        self.device = memory.device
        self._page = memory.allocate_on_host(PAGE_BYTES)
        self._word = self._page.view((1,), torch.int32)
        self._value = 0

    @property
    def descriptor(self) -> int:
        """The page's memfd; it remains the gate's."""
        return self._page.descriptor

    def close(self) -> int:
        """Draw a new value, for which the next request waits."""
        self._word.zero_()
        self._value = 1 + secrets.randbelow(MAX_VALUE)
        return self._value

    def open(self) -> None:
        """Let in what waits. What the judge has enqueued for it must be done."""
        self._word.fill_(self._value)

    def works(self) -> bool:
        """Whether this device and driver know such waiting: tried on a stream of the judge's own."""
        stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        try:
            mapped = MappedGate(os.dup(self.descriptor))
        except RuntimeError:
            return False
        try:
            with torch.cuda.stream(stream):
                mapped.wait_for(self.close())
            waited = not stream.query()
        except RuntimeError:
            waited = False
        finally:
            self.open()
            stream.synchronize()
            mapped.close()
        return waited


class Valve:
    """A gate for the judge's own stream, which no worker sees."""

    def __init__(self) -> None:
        """Of the current device. Raises RuntimeError where that can't know such memory."""
        page = HostAllocation(0, PAGE_BYTES)
        self._word = page.view((1,), torch.int32)
        self._mapped = MappedGate(page.descriptor)
        self._value = 0

    def close(self) -> None:
        """Have what is enqueued from now on wait."""
        self._value = self._value % MAX_VALUE + 1
        self._mapped.wait_for(self._value)

    def open(self) -> None:
        self._word.fill_(self._value)


_valves: dict[torch.device, Valve] = {}


def _valve_of(device: torch.device) -> Valve | None:
    """The process's own, for good; None where there can't be one."""
    if device not in _valves:
        try:
            with torch.cuda.device(device):
                _valves[device] = Valve()
        except RuntimeError as error:
            log.warning("the judge's own host is in its clock: %s", error)
    return _valves.get(device)


def at_once(device: torch.device, copies: int, enqueue: Callable[[], None]) -> float:
    """Have the device begin with what `enqueue` asks it for, so many copies that it has done before, when all of it has been asked for.

    Returns the moment, by time.perf_counter(): how long asking takes the judge is not after it, but where there are too many to wait.
    `enqueue` must not wait for the device, and no other thread of the process may use it meanwhile.
    """
    valve = _valve_of(device) if copies <= MOST_AT_ONCE else None
    start = time.perf_counter()
    if valve is None:
        enqueue()
        return start
    with torch.cuda.device(device):
        try:
            valve.close()
            enqueue()
            return time.perf_counter()
        finally:
            valve.open()

"""The gate: calls on a GPU wait at it, in order, until the judge opens it (nvbench's blocking kernel).

A request's calls are enqueued behind the gate. Then the judge starts its clock, copies the inputs, and opens the gate. So the clock shows
the device's time and not the host's, and no call can be computed ahead, since the inputs do not exist yet.

The gate is a word of host memory that a CPU opens. A kernel of the judge would be slower: the clock would include each switch of the device
between processes.
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
"""Maximum number of copies that the judge queues at once: a quarter of the device's queue."""


log = logging.getLogger(__name__)


class StreamGate:
    """A word of the judge's memory. Streams of its device wait until it holds the random value of the request."""

    def __init__(self, memory: SharedMemory) -> None:
        self.device = memory.device
        self._page = memory.allocate_on_host(PAGE_BYTES)
        self._word = self._page.view((1,), torch.int32)
        self._value = 0

    @property
    def descriptor(self) -> int:
        """The page's memfd, owned by the gate."""
        return self._page.descriptor

    def close(self) -> int:
        """Choose a new random value, for which the next request waits."""
        self._word.zero_()
        self._value = 1 + secrets.randbelow(MAX_VALUE)
        return self._value

    def open(self) -> None:
        """Let the waiting work start. The judge's own queued work for it must be done."""
        self._word.fill_(self._value)

    def works(self) -> bool:
        """Whether this device and driver support such waiting, tried on a stream of the judge's own."""
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
        """A valve of the current device. Raises RuntimeError if the device can't use such memory."""
        page = HostAllocation(0, PAGE_BYTES)
        self._word = page.view((1,), torch.int32)
        self._mapped = MappedGate(page.descriptor)
        self._value = 0

    def close(self) -> None:
        """Make work wait that is enqueued from now on."""
        self._value = self._value % MAX_VALUE + 1
        self._mapped.wait_for(self._value)

    def open(self) -> None:
        self._word.fill_(self._value)


_valves: dict[torch.device, Valve] = {}


def _valve_of(device: torch.device) -> Valve | None:
    """The process's valve for the device, made once; None if there can't be one."""
    if device not in _valves:
        try:
            with torch.cuda.device(device):
                _valves[device] = Valve()
        except RuntimeError as error:
            log.warning("the judge's clock includes its own host time: %s", error)
    return _valves.get(device)


def at_once(device: torch.device, copies: int, enqueue: Callable[[], None]) -> float:
    """Queue all of the `copies` that `enqueue` makes, then start the device. The device must have done such copies before.

    Returns the start time, by time.perf_counter(). The judge's time to queue is before it, unless there are too many copies to queue.
    `enqueue` must not wait for the device, and no other thread of the process may use the device meanwhile.
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

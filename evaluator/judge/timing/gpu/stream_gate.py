"""The gate: calls on a GPU wait at it, in order, until the judge opens it (nvbench's blocking kernel).

A request's calls are enqueued behind the gate. Then the judge's own stream copies the inputs, opens the gate, waits until the worker's
stream has written that it is done, and copies outputs. Two events around that are the judge's clock. It shows the device's time, whatever
the processes on the host do meanwhile. No call can be computed ahead, since the inputs do not exist yet. If a worker writes too early,
unfinished outputs are copied.

The gate is a page of host memory. A kernel of the judge instead of it would be slower: the clock would include each switch of the device
between processes.
"""

import os
import secrets
import time
from collections.abc import Callable

import torch

from evaluator.judge.workers.shared_memory import HostAllocation, SharedMemory
from evaluator.worker.gate import DONE, OPEN, MappedGate
from evaluator.worker.recorder import event

MAX_VALUE = (1 << 31) - 1
PAGE_BYTES = 4096
MOST_COPIES = 256
"""Maximum number of tensors that the judge copies for a request behind the gate: a quarter of the device's queue."""
RELEASE_S = 1.0
"""Time after which a worker that overwrites its word is killed."""


class _Page(HostAllocation):
    """A page that streams of this process can wait for and write to."""

    def __init__(self) -> None:
        """Raises RuntimeError if the device can't use such memory."""
        super().__init__(0, PAGE_BYTES)
        self.words = self.view((2,), torch.int32)
        try:
            self.mapped = MappedGate(os.dup(self.descriptor))
        except RuntimeError:
            super().free()
            raise

    def free(self) -> None:
        try:
            self.mapped.close()
        finally:
            super().free()


class StreamGate:
    """A page of the judge's memory. Streams of a worker wait until it holds the random value of the request, and write that at the end.

    The judge writes to it by the device only: a worker can give the page's memory back, and a process then has another page than devices.
    """

    def __init__(self, memory: SharedMemory) -> None:
        """Raises RuntimeError if the device can't use such memory."""
        self.device = memory.device
        with torch.cuda.device(self.device):
            self._page, self._valve = _Page(), _valve_of(self.device)
            self._beside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        memory.keep(self._page)
        self._value = 0
        self._begun, self._landed = event(), event()

    @property
    def descriptor(self) -> int:
        """The page's memfd, owned by the gate."""
        return self._page.descriptor

    def close(self) -> int:
        """Choose a new random value, for which the next request waits."""
        self._value = 1 + secrets.randbelow(MAX_VALUE)
        return self._value

    def pass_through(self, show: Callable[[], object], land: Callable[[], object]) -> None:
        """Enqueue all of the judge's work for a request, then start the device: the copies of `show`, the opening of the gate, and when the
        worker's stream is done, the copies of `land`.

        The host's time to enqueue is not in the clock's. Neither function may wait for the device, make more copies than MOST_COPIES, or
        launch a kernel for the first time. No other thread of the process may use the device meanwhile.
        """
        with torch.cuda.device(self.device):
            try:
                self._valve.close()
                self._begun.record()
                show()
                self._page.mapped.write(self._value, OPEN)
                self._page.mapped.wait_for(self._value, DONE)
                land()
                self._landed.record()
            finally:
                self._valve.open()

    def release(self, kill: Callable[[], object]) -> None:
        """Wait for the judge's own stream, which waits no longer for the worker, nor the worker at the gate. Call it after each reply, and
        each failure.

        A worker could go on to overwrite its word, but not each time that the device looks. After RELEASE_S it is killed.
        """
        start, stream = time.monotonic(), torch.cuda.current_stream(self.device)
        while True:
            with torch.cuda.stream(self._beside):
                self._page.mapped.write(self._value, OPEN)
                self._page.mapped.write(self._value, DONE)
            self._beside.synchronize()
            if stream.query():
                return
            if time.monotonic() - start > RELEASE_S:
                kill()

    def took_ms(self) -> float:
        """The time from before the copies of inputs until after those of outputs, on the device. Call it after `release`."""
        return float(self._begun.elapsed_time(self._landed))

    def works(self) -> bool:
        """Whether this device and driver support such waiting, tried on a stream of the judge's own."""
        stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        value = self.close()
        try:
            with torch.cuda.stream(stream):
                self._page.mapped.wait_for(value)
            waited = not stream.query()
            with torch.cuda.stream(self._beside):
                self._page.mapped.write(value, OPEN)
            stream.synchronize()
        except RuntimeError:
            return False
        return waited


class Valve:
    """A gate for the judge's own stream, which no worker sees."""

    def __init__(self) -> None:
        """A valve of the current device. Raises RuntimeError if the device can't use such memory."""
        self._page, self._value = _Page(), 0

    def close(self) -> None:
        """Make work wait that is enqueued from now on."""
        self._value = self._value % MAX_VALUE + 1
        self._page.mapped.wait_for(self._value)

    def open(self) -> None:
        self._page.words.fill_(self._value)


_valves: dict[torch.device, Valve] = {}


def _valve_of(device: torch.device) -> Valve:
    """The process's valve for the device, made once. Raises RuntimeError if there can't be one."""
    if device not in _valves:
        _valves[device] = Valve()
    return _valves[device]

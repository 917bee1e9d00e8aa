"""What keeps calls on a GPU waiting, in the order in which they were asked for, until the judge lets them in.

A burst's calls are enqueued behind the gate. Only when they all are does the judge's clock start, the inputs come, and the gate open. So
the clock sees the device's time and not the host's, and nothing can be done ahead, for want of inputs to do it with.
"""

import secrets
from typing import Any

import torch

from evaluator.judge.memory import Allocation, Memory, describe
from evaluator.worker.memory import checked, wait_for

MAX_VALUE = (1 << 31) - 1


class Gate:
    """A word of the judge's memory. Streams wait until it holds what was drawn for the burst."""

    def __init__(self, memory: Memory) -> None:
        self.allocation: Allocation = memory.allocate(4)
        self._word = self.allocation.view((1,), torch.int32)
        self._value = 0

    def close(self) -> dict[str, Any]:
        """Draw a new value; how the next request says what to wait for."""
        self._value = 1 + secrets.randbelow(MAX_VALUE)
        self._word.zero_()
        torch.cuda.synchronize(self._word.device)
        return {"memory": describe(self.allocation, 0, self._word), "value": self._value}

    def open(self) -> None:
        """Let in what waits, once all that the judge has enqueued before is done. Raises RuntimeError."""
        from cuda.bindings import driver

        stream = torch.cuda.current_stream(self._word.device).cuda_stream
        checked(driver.cuStreamWriteValue32(stream, self._word.data_ptr(), self._value, 0))

    def works(self) -> bool:
        """Whether this device and driver know such waiting: tried on a stream of the judge's own."""
        self.close()
        stream = torch.cuda.Stream(self._word.device)  # type: ignore[no-untyped-call]
        try:
            with torch.cuda.stream(stream):
                wait_for(self._word, self._value)
            waited = not stream.query()
            self.open()
        except RuntimeError:
            self._word.fill_(self._value)  # or the stream would wait for ever
            return False
        torch.cuda.synchronize(self._word.device)
        return waited

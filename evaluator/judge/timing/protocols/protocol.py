"""What a protocol decides."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from evaluator.judge.timing.timed_worker import TimedWorker
    from evaluator.judge.workers.input_buffers import Given

BLOCK_MS = 5.0
"""About as long as the calls of one request may take together: candidate and baseline see the same clock, and one wait is for many."""


class Protocol(ABC):
    """One way of timing calls."""

    name: ClassVar[str]
    device_kind: ClassVar[str]
    text: ClassVar[str]
    """What a time is of, in a few words."""
    is_cold: ClassVar[bool] = False
    """Whether the L2 cache is emptied before each call, the judge's own witnesses among them."""
    is_apart: ClassVar[bool] = False
    """Whether each call is between two events of its own, on a GPU that is given a head start, and without the events' own time."""
    replays: ClassVar[bool] = False
    """Whether calls are recorded once as CUDA graphs, and replayed."""

    def calls_in_block(self, call_ms: float, room: int) -> int:
        """How many calls a request is of, where one takes so long and there is memory for `room` of them."""
        return max(1, min(room, int(BLOCK_MS / call_ms)))

    @abstractmethod
    def take(self, side: "TimedWorker", given: "Given") -> list[Any]:
        """Have a worker do one block of calls, and note what they took; its answers as it describes them, one for each call.

        Raises WorkerError, ProtocolError.
        """

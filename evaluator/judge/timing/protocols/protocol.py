"""What a timing protocol decides, and what it needs of the worker that it times."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeAlias

BLOCK_MS = 5.0
"""About how long the calls of one request may take together: short enough that candidate and baseline see the same GPU clock."""

Calls: TypeAlias = "Sequence[tuple[Any, Sequence[Any]]]"
"""Calls to make: for each, the memory for its inputs and its arguments."""


class BlockTimer(Protocol):
    """A timed worker, as a timing protocol sees it. Each method makes calls that count, notes their times, and raises WorkerError and
    ProtocolError."""

    def block(self, given: Calls, *, apart: bool) -> list[Any]:
        """Calls in one request, between two CUDA events each (`apart`) or all together; their answers."""

    def host_block(self, given: Calls) -> list[Any]:
        """Calls in one request on a CPU, which the judge's clock times all together; their answers."""

    def replay(self, given: Calls) -> list[Any]:
        """One replay of a CUDA graph of these calls; their answers."""


class TimingProtocol(ABC):
    """One way of timing calls."""

    name: ClassVar[str]
    """Also the name of its file."""
    device_kind: ClassVar[str]
    is_cold: ClassVar[bool] = False
    """Whether the L2 cache is emptied before each call, and before the judge's own measurements of single calls and bursts."""
    times_each_call: ClassVar[bool] = False
    """Whether each call is between two events of its own. Then calls have a launch lead, and the time of the events is taken off."""
    replays: ClassVar[bool] = False
    """Whether calls are recorded once as CUDA graphs, and replayed."""

    def calls_in_block(self, call_ms: float, room: int) -> int:
        """How many calls one request makes, where a call takes so long and there is memory for `room` of them."""
        return max(1, min(room, int(BLOCK_MS / call_ms)))

    @abstractmethod
    def take(self, timed: BlockTimer, given: Calls) -> list[Any]:
        """Have a worker make one block of calls and note their times. Returns its answers as it describes them, one for each call.

        Raises WorkerError, ProtocolError.
        """

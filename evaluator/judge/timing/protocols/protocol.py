"""The interface of timing protocols, and of the workers that they time."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeAlias

Calls: TypeAlias = "Sequence[tuple[Any, Sequence[Any]]]"
"""Calls to make: for each, the memory for its inputs and its arguments."""


class BlockTimer(Protocol):
    """A timed worker, as a timing protocol sees it. Each method makes calls that count, notes their times and returns their outputs. Each
    raises WorkerError and ProtocolError."""

    def block(self, given: Calls, *, apart: bool) -> list[Any]:
        """Make calls in one request, each between two CUDA events (`apart`) or all together."""

    def host_block(self, given: Calls) -> list[Any]:
        """Make calls in one request on a CPU, timed together by the judge's clock."""

    def replay(self, given: Calls) -> list[Any]:
        """Replay a CUDA graph of these calls once."""


class TimingProtocol(ABC):
    """One way of timing calls."""

    name: ClassVar[str]
    """Also the name of its file."""
    device_kind: ClassVar[str]
    is_cold: ClassVar[bool] = False
    """Whether the L2 cache is flushed before each call, and before the judge's own measurements of single calls and bursts."""
    times_each_call: ClassVar[bool] = False
    """Whether each call is between its own two events. Then calls have a launch lead, and the time of the events is subtracted."""
    block_ms: ClassVar[float] = 5.0
    """Approximate limit of the total time of one request's calls: so short that candidate and baseline see the same GPU clock."""
    replays: ClassVar[bool] = False
    """Whether calls are recorded once as CUDA graphs, and replayed."""

    def calls_in_block(self, call_ms: float, room: int) -> int:
        """Number of calls per request, if a call takes `call_ms` and memory suffices for `room` calls."""
        return max(1, min(room, int(self.block_ms / call_ms)))

    @abstractmethod
    def take(self, timed: BlockTimer, given: Calls) -> list[Any]:
        """Have a worker make one block of calls, and note their times. Returns its descriptions of the outputs, one for each call.

        Raises WorkerError, ProtocolError.
        """

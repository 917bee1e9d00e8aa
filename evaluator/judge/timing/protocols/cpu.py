"""The default on a CPU: the judge's monotonic clock over the request for a block of calls, divided by their number."""

from typing import Any

from evaluator.judge.timing.protocols.protocol import BlockTimer, Calls, TimingProtocol

BLOCK_MS = 2.0
"""About how long the calls of a request may take together. Of longer ones more are interrupted."""


class Cpu(TimingProtocol):
    """Short calls share a request: being woken for one takes a worker 0.05 to 0.2 ms, more in one process than in another. In the end the
    judge takes off the time of a block without calls."""

    name = "cpu"
    device_kind = "cpu"

    def calls_in_block(self, call_ms: float, room: int) -> int:
        return max(1, min(room, int(BLOCK_MS / call_ms)))

    def take(self, timed: BlockTimer, given: Calls) -> list[Any]:
        return timed.host_block(given)


PROTOCOL = Cpu()

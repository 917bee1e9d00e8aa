"""The default on a CPU: the judge's monotonic clock over the request for a block of calls, divided by their number."""

from typing import Any

from evaluator.judge.timing.protocols.protocol import BlockTimer, Calls, TimingProtocol


class Cpu(TimingProtocol):
    """Short calls share a request, since waking a worker for one takes 0.05 to 0.2 ms, and differs between processes. In the end the judge
    subtracts the time of an empty block."""

    name = "cpu"
    device_kind = "cpu"
    block_ms = 2.0
    """Longer requests are interrupted more often."""

    def take(self, timed: BlockTimer, given: Calls) -> list[Any]:
        return timed.host_block(given)


PROTOCOL = Cpu()

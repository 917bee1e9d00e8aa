"""The default on a CPU: the judge's monotonic clock over the request for a call."""

from typing import Any

from evaluator.judge.timing.protocols.protocol import BlockTimer, Calls, TimingProtocol


class Cpu(TimingProtocol):
    """One call a request; in the end the judge takes off the time of a request that does nothing."""

    name = "cpu"
    device_kind = "cpu"

    def calls_in_block(self, call_ms: float, room: int) -> int:  # noqa: ARG002 - the judge's clock can't divide a request
        return 1

    def take(self, timed: BlockTimer, given: Calls) -> list[Any]:
        ((inputs, arguments),) = given
        return [timed.sample(inputs, arguments).get("output")]


PROTOCOL = Cpu()

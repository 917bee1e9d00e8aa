"""Calls back to back: the mean time of a call, with the caches as the previous calls left them."""

from typing import Any

from evaluator.judge.timing.protocols.protocol import BlockTimer, Calls, TimingProtocol


class Throughput(TimingProtocol):
    """Times all calls of a block between two events. Each call has inputs of its own, so that no result can be reused."""

    name = "throughput"
    device_kind = "cuda"

    def take(self, timed: BlockTimer, given: Calls) -> list[Any]:
        return timed.block(given, apart=False)


PROTOCOL = Throughput()

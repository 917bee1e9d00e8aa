"""Calls back to back: the time of one among many, with the caches as the calls before it left them."""

from typing import Any

from evaluator.judge.timing.protocols.protocol import BlockTimer, Calls, TimingProtocol


class Throughput(TimingProtocol):
    """Between two events around all calls of a block. Each call has inputs of its own, so that none can be answered once for all."""

    name = "throughput"
    device_kind = "cuda"

    def take(self, timed: BlockTimer, given: Calls) -> list[Any]:
        return timed.block(given, apart=False)


PROTOCOL = Throughput()

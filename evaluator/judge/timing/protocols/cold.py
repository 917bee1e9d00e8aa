"""The default on a GPU: device time of each single call, without its inputs in the L2 cache."""

from typing import Any

from evaluator.judge.timing.protocols.protocol import BlockTimer, Calls, TimingProtocol


class Cold(TimingProtocol):
    """Times each call between two events, after a flush of the L2 cache."""

    name = "cold"
    device_kind = "cuda"
    is_cold = True
    times_each_call = True

    def take(self, timed: BlockTimer, given: Calls) -> list[Any]:
        return timed.block(given, apart=True)


PROTOCOL = Cold()

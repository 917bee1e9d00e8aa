"""Replays of a CUDA graph, for kernels that take less time than their launch."""

from typing import Any

from evaluator.judge.timing.protocols.protocol import BlockTimer, Calls, TimingProtocol


class Graph(TimingProtocol):
    """Times one replay of a graph of all calls of a block between two events. Each call has inputs of its own.

    The host's work in forward() is done once, when the graph is recorded. A submission that waits for the device, or launches on the
    legacy default stream, can't be recorded. It is timed by the default protocol instead, and its record says why.
    """

    name = "graph"
    device_kind = "cuda"
    replays = True

    def take(self, timed: BlockTimer, given: Calls) -> list[Any]:
        return timed.replay(given)


PROTOCOL = Graph()

"""Replays of a CUDA graph: for kernels so short that to launch them takes longer than they do."""

from typing import TYPE_CHECKING, Any

from evaluator.judge.timing.protocols.protocol import Protocol

if TYPE_CHECKING:
    from evaluator.judge.timing.timed_worker import TimedWorker
    from evaluator.judge.workers.input_buffers import Given


class Graph(Protocol):
    """Between two events around one replay, of a graph of as many calls as there are in a block, each over inputs of its own.

    What forward() does on the host is done once, when the graph is recorded. Not every submission can be: one that waits for the device, or
    launches on the legacy default stream, is timed by the default protocol instead, and its record says why.
    """

    name = "graph"
    device_kind = "cuda"
    text = "device time of a call in the replay of a CUDA graph"
    replays = True

    def take(self, side: "TimedWorker", given: "Given") -> list[Any]:
        return side.replay(given)

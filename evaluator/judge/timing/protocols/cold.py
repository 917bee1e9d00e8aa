"""The default on a GPU: device time of each call by itself, with nothing of its inputs in the L2 cache."""

from typing import TYPE_CHECKING, Any

from evaluator.judge.timing.protocols.protocol import Protocol

if TYPE_CHECKING:
    from evaluator.judge.timing.timed_worker import TimedWorker
    from evaluator.judge.workers.input_buffers import Given


class Cold(Protocol):
    """Between two events around each call, after a flush."""

    name = "cold"
    device_kind = "cuda"
    text = "device time of a call, with its inputs in no cache"
    is_cold = True
    is_apart = True

    def take(self, side: "TimedWorker", given: "Given") -> list[Any]:
        return side.block(given, apart=self.is_apart)

"""Calls back to back: what one of many takes, with caches as the calls before it have left them."""

from typing import TYPE_CHECKING, Any

from evaluator.judge.timing.protocols.protocol import Protocol

if TYPE_CHECKING:
    from evaluator.judge.timing.timed_worker import TimedWorker
    from evaluator.judge.workers.input_buffers import Given


class Throughput(Protocol):
    """Between two events around all calls of a block. Each has inputs of its own, so that none can be answered once for all."""

    name = "throughput"
    device_kind = "cuda"
    text = "device time of a call among others, back to back"

    def take(self, side: "TimedWorker", given: "Given") -> list[Any]:
        return side.block(given, apart=self.is_apart)

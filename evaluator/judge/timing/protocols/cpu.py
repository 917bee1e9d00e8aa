"""The default on a processor: the judge's monotonic clock over the request for a call."""

from typing import TYPE_CHECKING, Any

from evaluator.judge.timing.protocols.protocol import Protocol

if TYPE_CHECKING:
    from evaluator.judge.timing.timed_worker import TimedWorker
    from evaluator.judge.workers.input_buffers import Given


class Cpu(Protocol):
    """One call a request; what it takes to ask for nothing is taken off in the end."""

    name = "cpu"
    device_kind = "cpu"
    text = "wall time of a call, by the judge's clock"

    def calls_in_block(self, call_ms: float, room: int) -> int:  # noqa: ARG002 - the judge's clock knows no parts of a request
        return 1

    def take(self, side: "TimedWorker", given: "Given") -> list[Any]:
        ((inputs, arguments),) = given
        return [side.sample(inputs, arguments).get("output")]

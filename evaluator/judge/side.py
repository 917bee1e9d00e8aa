"""One side of a timing: a worker, what is asked of it call by call, and what is measured."""

import secrets
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

from evaluator.judge.activity import Activity
from evaluator.judge.memory import Allocation, Memory, describe
from evaluator.judge.session import Worker
from evaluator.result import TimingSide
from evaluator.worker.protocol import Message, ProtocolError

SPIN_S = 0.1
"""How long an answer is waited for awake on a GPU machine; on the CPU that would take a processor from the submission."""
LEAST_MS = 1e-3
"""Below the resolution of the judge's clock nothing is told apart."""
FLUSH_BYTES = 192 << 20
"""Three times the L2 of an H200 (60 MB): writing it leaves nothing of the inputs there."""


class Flush:
    """What a worker writes over before a timed call, so that the L2 cache holds nothing of the inputs.

    It is the judge's memory, and the byte is drawn anew for each call, so that a flush that was left out, to hide work of the same length
    behind its time, is seen.
    """

    def __init__(self, memory: Memory) -> None:
        self.allocation: Allocation = memory.allocate(FLUSH_BYTES)
        self._byte = 0

    def order(self) -> dict[str, Any]:
        """How the next request says what to write."""
        self._byte = secrets.randbelow(256)
        return {"memory": describe(self.allocation, 0, self.allocation.bytes[:FLUSH_BYTES]), "byte": self._byte}

    def done(self) -> bool:
        """Whether all of it has been written."""
        return bool((self.allocation.bytes[:FLUSH_BYTES] == self._byte).all())


@dataclass
class Side:
    """The candidate or the baseline while it is timed."""

    worker: Worker
    deadline_s: float
    flush: Flush | None
    """None on the CPU."""
    samples_ms: list[float] = field(default_factory=list)
    wall_ms: list[float] = field(default_factory=list)
    busy_ms: list[float] = field(default_factory=list)
    reveal_ms: list[float] = field(default_factory=list)
    burst_ms: list[float] = field(default_factory=list)
    background_ms: list[float] = field(default_factory=list)
    unflushed: int = 0
    """Calls in which the flush was left out."""
    numbers: list[int] = field(default_factory=list)
    """Of the tensors that the reference returns: their places in the order in which the worker describes its answer."""
    described: int = 0
    """How many tensors it describes."""

    def __post_init__(self) -> None:
        pid = self.worker.channel.peer_pid
        self._activity = Activity(pid) if pid and self.flush is None else None
        """On the CPU only: a worker on a GPU waits awake."""

    def call(self, position: int) -> tuple[float, float, Message]:
        """One call over one set: wall time by the judge's clock and the worker's claim (0 on the CPU), both in ms, and the answer."""
        if self.flush is None:
            wall_ms, answer = self._ask("time", set=position)
            return wall_ms, 0.0, answer
        wall_ms, answer = self._ask("time", set=position, flush=self.flush.order())
        return wall_ms, max(claimed_ms(answer), LEAST_MS), answer

    def sample(self, position: int, talk_ms: float) -> tuple[float, Message]:
        """One call that counts: its wall time, in ms, and the answer. On the CPU `talk_ms` of it is the talk's."""
        before_ms = self._activity.main_ms() if self._activity else 0.0
        wall_ms, claim_ms, answer = self.call(position)
        if self._activity:
            self.busy_ms.append(self._activity.main_ms() - before_ms)
        self.wall_ms.append(wall_ms)
        self.samples_ms.append(max(wall_ms - talk_ms, LEAST_MS) if self.flush is None else claim_ms)
        return wall_ms, answer

    def check_flush(self) -> None:
        """See whether the last call was preceded by its flush. Looking takes a while: not before the answer has been revealed."""
        if self.flush is not None:
            self.unflushed += not self.flush.done()

    def burst(self, positions: Sequence[int], outputs: Sequence[Any]) -> float:
        """Calls back to back over these sets, each answer copied to its place in `outputs`: the wall time of all, in ms."""
        return self._ask("burst", sets=list(positions), outputs=list(outputs))[0]

    def ping(self) -> float:
        """What it costs to ask for nothing, in ms."""
        return self._ask("ping")[0]

    @contextmanager
    def revealing(self) -> Iterator[None]:
        """Time a reveal: by the clock on a GPU, by its processor time on the CPU, which no other load on the machine adds to."""
        start = time.perf_counter()
        with self._activity.measured() if self._activity else nullcontext() as used_ms:
            yield
        self.reveal_ms.append(used_ms[0] if used_ms else (time.perf_counter() - start) * 1e3)

    def watch(self, longest_s: float) -> None:
        """Note what the worker's processes still do of their own accord."""
        if self._activity is not None:
            self.background_ms.append(self._activity.after_answer_ms(longest_s))

    def summary(self) -> TimingSide:
        """All samples, with the quartiles of the calls."""
        lower, median, upper = quartiles(self.samples_ms)
        return TimingSide(
            median_ms=median,
            lower_quartile_ms=lower,
            upper_quartile_ms=upper,
            samples_ms=tuple(self.samples_ms),
            wall_ms=tuple(self.wall_ms),
            busy_ms=tuple(self.busy_ms),
            reveal_ms=tuple(self.reveal_ms),
            burst_ms=tuple(self.burst_ms),
            background_ms=tuple(self.background_ms),
        )

    def _ask(self, kind: str, **fields: Any) -> tuple[float, Message]:
        if self.flush is not None:
            torch.cuda.synchronize(self.flush.allocation.bytes.device)  # nothing of the judge's own runs into the worker's time
        start = time.perf_counter()
        answer = self.worker.request(kind, self.deadline_s, spin_s=SPIN_S if self.flush is not None else 0.0, **fields)
        return (time.perf_counter() - start) * 1e3, answer


def quartiles(samples: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile of at least one sample."""
    lower, median, upper = statistics.quantiles(samples, n=4) if len(samples) > 1 else list(samples) * 3
    return lower, median, upper


def claimed_ms(answer: Message) -> float:
    """The time that a worker says a call took. Raises ProtocolError where it says nothing of the kind."""
    value = answer.get("ms")
    if not isinstance(value, float | int) or isinstance(value, bool) or not 0 <= value < 1e9:
        raise ProtocolError("a time is a number of milliseconds, and not negative")
    return float(value)

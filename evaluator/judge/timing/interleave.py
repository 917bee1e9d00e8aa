"""Candidate and baselines called in turns, over inputs that the candidate has not seen."""

import logging
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evaluator.judge.correctness.output_structure import read_claim
from evaluator.judge.correctness.reference import BaselineFailedError
from evaluator.judge.timing.gated_calls import room_bytes
from evaluator.judge.timing.gpu.l2_flush import L2Flush
from evaluator.judge.timing.gpu.stream_gate import StreamGate
from evaluator.judge.timing.protocols import Protocol
from evaluator.judge.timing.timed_worker import TimedWorker, UnrecordableError
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.input_buffers import InputSet, fresh_seed
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.problem.problem import ProblemCase
from evaluator.worker.protocol import ProtocolError

MAX_SETS = 16
MAX_REASON_CHARS = 500

_random = secrets.SystemRandom()

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """What a worker says that it returned, and for what."""

    inputs: InputSet
    arguments: list[Any]
    claimed: Any
    described: int
    """How many tensors the worker describes."""
    call: int
    """Which of the timed calls; 0 for one before them."""
    place: int | None = None
    """Which of the answers of its block; None for a call that was asked for alone."""


class Interleaver:
    """The sides of a timing, and what they are called with."""

    def __init__(
        self,
        candidate: WorkerClient,
        baseline: WorkerClient,
        others: Mapping[str, WorkerClient],
        case: ProblemCase,
        memory: SharedMemory,
        deadline_s: float,
        protocol: Protocol,
    ) -> None:
        """`others` are further baselines by their kind. Raises WorkerError, ProblemError."""
        self._since = time.monotonic()
        self._case, self._memory, self._deadline_s, self._protocol = case, memory, deadline_s, protocol
        self.on_device = memory.device.type == "cuda"
        self._arguments = [self.draw()]
        """What the candidate was given last. The baselines are given the same after it, and so show it nothing in the memory of all."""
        self.sets = self._make_sets()
        is_flushed = self.on_device and protocol.is_cold
        self.flush = L2Flush(memory, room_bytes(memory.device), len(self.sets)) if is_flushed else None
        self.candidate, self.baseline = self._make_side(candidate), self._make_side(baseline)
        self.left_out: dict[str, str] = {}
        """Why a further baseline is not among the sides any more, by its kind."""
        self.others: dict[str, TimedWorker] = {}
        for kind, other in others.items():
            try:
                self.others[kind] = self._make_side(other)
            except WorkerError:
                self.left_out[kind] = other.failure[:MAX_REASON_CHARS]
        self.sides = [self.candidate, self.baseline, *self.others.values()]
        self.calls = self.blocks = 0
        """Those that count."""
        self.length = 1
        """Calls in a block."""

    @property
    def example(self) -> list[Any]:
        """Arguments as every call has them."""
        return self._arguments[0]

    @property
    def most_in_block(self) -> int:
        """For how many calls there are inputs and flushes of their own."""
        return min(len(self.sets), self.flush.areas if self.flush else MAX_SETS)

    def _make_sets(self) -> list[InputSet]:
        """Memory in which both workers see the inputs of calls, at places that change."""
        first = InputSet(self._memory, self._arguments)
        nbytes = sum(allocation.nbytes for allocation in first.allocations)
        more = max(0, min(MAX_SETS, room_bytes(self._memory.device) // max(nbytes, 1)) - 1)
        return [first, *(InputSet(self._memory, self._arguments) for _ in range(more))]

    def _make_side(self, worker: WorkerClient) -> TimedWorker:
        """One side, whose worker sees what all are given, and has a gate that another one can't close."""
        gate = _working_gate(self._memory) if self.on_device else None
        side = self._side_of(worker, gate, replays=self._protocol.replays)
        shared = [allocation for one in self.sets for allocation in one.allocations]
        worker.hand_over([*shared, *(self.flush.allocations if self.flush else [])], self._deadline_s)
        if side.gate:
            worker.request("gate", self._deadline_s, [side.gate.descriptor])
        return side

    def _side_of(self, worker: WorkerClient, gate: StreamGate | None, *, replays: bool) -> TimedWorker:
        device = self._memory.device if self.on_device else None
        return TimedWorker(worker, self._deadline_s, self.flush, gate, device=device, replays=replays, since=self._since)

    def anew(self, side: TimedWorker) -> TimedWorker:
        """The same worker as another side, which is given inputs of its own."""
        fresh = self._side_of(side.worker, side.gate, replays=side.replays)
        fresh.head_start = side.head_start
        return fresh

    @contextmanager
    def sparing(self, side: TimedWorker) -> Iterator[None]:
        """A further baseline that fails in here is left out, and nothing else comes of it."""
        try:
            yield
        except (WorkerError, BaselineFailedError, UnrecordableError) as error:
            kind = next((kind for kind, other in self.others.items() if other is side), None)
            if kind is None:
                raise
            log.info("the baseline %s is left out: %s", kind, error)
            self.left_out[kind] = (side.worker.failure or str(error))[:MAX_REASON_CHARS]
            del self.others[kind]
            self.sides = [self.candidate, self.baseline, *self.others.values()]
            side.worker.end()

    def draw(self) -> list[Any]:
        """New arguments."""
        return self._case.inputs(fresh_seed(), self._memory.device)

    def forget_arguments(self) -> None:
        """Let go of what was given last: there may be no memory for more."""
        self._arguments = []

    def _given(self, side: TimedWorker, count: int) -> list[list[Any]]:
        """Arguments for so many calls: of a baseline beside the candidate what that was given last, and otherwise new ones."""
        beside = side is self.baseline or side in self.others.values()
        if not beside or len(self._arguments) != count:
            self._arguments = []
            self._arguments = [self.draw() for _ in range(count)]
        return self._arguments

    def call(self, side: TimedWorker) -> Answer:
        """One call, which is no sample."""
        (arguments,) = self._given(side, 1)
        inputs = _random.choice(self.sets)
        with self._blaming(side):
            return Answer(inputs, arguments, *read_claim(side.call(inputs, arguments)[2]), self.calls)

    def warming_call(self, side: TimedWorker) -> float:
        """One call whose answer nobody looks at; what it took, in ms, by the clock of the device's samples."""
        (arguments,) = self._given(side, 1)
        with self._blaming(side):
            wall_ms, claim_ms, _ = side.call(_random.choice(self.sets), arguments)
        return claim_ms if self.on_device else wall_ms

    def block(self, side: TimedWorker) -> list[Answer]:
        """A block of calls that count."""
        length = self.length
        sets = self.sets[:length] if self._protocol.replays else _random.sample(self.sets, length)
        given = list(zip(sets, self._given(side, length), strict=True))
        with self._blaming(side):
            answers = [read_claim({"output": answer}) for answer in self._protocol.take(side, given)]
        places = [None] if length == 1 and not self.on_device else range(length)
        return [Answer(*pair, *claim, self.calls, place) for pair, claim, place in zip(given, answers, places, strict=True)]

    @contextmanager
    def _blaming(self, side: TimedWorker) -> Iterator[None]:
        """Whatever a baseline's worker sends is not the candidate's fault."""
        try:
            yield
        except ProtocolError as error:
            if side is self.candidate:
                raise
            raise BaselineFailedError(f"the baseline's worker sent what it should not: {error}") from error


def _working_gate(memory: SharedMemory) -> StreamGate | None:
    gate = StreamGate(memory)
    return gate if gate.works() else None

"""Calls of candidate and baselines in turns, over inputs that the candidate has not seen."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evaluator.chance import chance
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.inputs.few_rows import FewChanges
from evaluator.judge.correctness.oracle.reference import BaselineFailedError
from evaluator.judge.correctness.output_structure import read_claim
from evaluator.judge.timing.gpu.l2_flush import L2Flush
from evaluator.judge.timing.gpu.stream_gate import MOST_COPIES, StreamGate
from evaluator.judge.timing.protocols import TimingProtocol
from evaluator.judge.timing.setup import MAX_SETS, Participants, TimedCase, room_bytes
from evaluator.judge.timing.statistics.samples import Samples
from evaluator.judge.timing.timed_inputs import TimedInputs
from evaluator.judge.timing.timed_worker import MAX_REASON_CHARS, TimedWorker, UnrecordableError
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.input_buffers import InputSet
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.worker.nested import tensors
from evaluator.worker.protocol import ProtocolError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """The output of a call, as the worker describes it, with the call's inputs."""

    inputs: InputSet
    draw: Draw
    claimed: Any
    described: int
    """Number of tensors that the worker describes."""
    call: int
    """Number of the timed call; 0 for a call before them."""
    place: int | None = None
    """Position among the outputs of its block; None for a call on its own."""


class Interleaver:
    """The timed workers and their inputs."""

    def __init__(
        self, participants: Participants, timed_case: TimedCase, protocol: TimingProtocol, earlier: "Interleaver | None" = None
    ) -> None:
        """`earlier`: the interleaver of another case of the same participants, to share its flush and gates. Raises WorkerError,
        ProblemError."""
        self._earlier = earlier
        self._since = time.monotonic()
        self._memory, self._deadline_s = timed_case.memory, timed_case.deadline_s
        self.protocol, self.device, self.on_device = protocol, timed_case.memory.device, timed_case.on_device
        self.inputs = TimedInputs(timed_case.case, self.device, timed_case.few_changes)
        self.sets = self._make_sets(timed_case)
        outputs = len(tensors(timed_case.form))
        self._can_hold = len(self.sets[0].allocations) + outputs <= MOST_COPIES
        is_flushed = self.on_device and protocol.is_cold
        self.flush: L2Flush | None = None
        if is_flushed:
            areas = MAX_SETS if timed_case.sharers > 1 else len(self.sets)
            self.flush = earlier.flush if earlier else L2Flush(self._memory, room_bytes(self.device), areas)
        self.candidate, self.baseline = self._admit(participants.candidate), self._admit(participants.baseline)
        self.left_out: dict[str, str] = {}
        """Why an extra baseline is no longer timed, by its kind."""
        self.others: dict[str, TimedWorker] = {}
        for kind, other in participants.others.items():
            try:
                self.others[kind] = self._admit(other)
            except WorkerError:
                self.left_out[kind] = other.failure[:MAX_REASON_CHARS]
        self.calls = self.blocks = 0
        """Calls and timing blocks that count."""
        self.length = 1
        """Calls per timing block."""

    @property
    def timed_workers(self) -> list[TimedWorker]:
        """All timed workers: the candidate, the baseline, and the remaining extra baselines."""
        return [self.candidate, self.baseline, *self.others.values()]

    @property
    def most_in_block(self) -> int:
        """Maximum calls per block: each needs inputs and a flush of its own."""
        return min(len(self.sets), self.flush.areas if self.flush else MAX_SETS)

    def _make_sets(self, timed_case: TimedCase) -> list[InputSet]:
        """Memory in which both workers see the inputs of calls, at changing addresses."""
        first = InputSet(self._memory, self.inputs.example)
        nbytes = sum(allocation.nbytes for allocation in first.allocations)
        more = max(0, min(MAX_SETS, timed_case.room_bytes // max(nbytes, 1)) - 1)
        return [first, *(InputSet(self._memory, self.inputs.example) for _ in range(more))]

    def _admit(self, worker: WorkerClient) -> TimedWorker:
        """Give a worker the shared inputs, and a gate that no other worker can close."""
        known = self._earlier and next((each for each in self._earlier.timed_workers if each.worker is worker), None)
        gate = known.gate if known else _working_gate(self._memory) if self.on_device else None
        timed = self._timed(worker, gate)
        shared = [allocation for one in self.sets for allocation in one.allocations]
        worker.hand_over([*shared, *(self.flush.allocations if self.flush and not known else [])], self._deadline_s)
        if gate and not known:
            worker.request("gate", self._deadline_s, [gate.descriptor])
        return timed

    def _timed(self, worker: WorkerClient, gate: StreamGate | None) -> TimedWorker:
        device = self.device if self.on_device else None
        replays = self.protocol.replays
        return TimedWorker(worker, self._deadline_s, self.flush, gate, self._can_hold, device=device, replays=replays, since=self._since)

    def anew(self, timed: TimedWorker) -> TimedWorker:
        """The worker without its samples, to be given inputs of its own."""
        fresh = self._timed(timed.worker, timed.gate)
        fresh.launch_lead = timed.launch_lead
        return fresh

    @contextmanager
    def sparing(self, timed: TimedWorker) -> Iterator[None]:
        """Drop an extra baseline that fails in the body of `with`, without other consequences."""
        try:
            yield
        except (WorkerError, BaselineFailedError, UnrecordableError) as error:
            kind = next((kind for kind, other in self.others.items() if other is timed), None)
            if kind is None:
                raise
            log.info("the baseline %s is left out: %s", kind, error)
            self.left_out[kind] = (timed.worker.failure or str(error))[:MAX_REASON_CHARS]
            del self.others[kind]
            timed.worker.end()

    def _given(self, timed: TimedWorker, count: int) -> list[Draw]:
        """Inputs for `count` calls: a baseline beside the candidate gets the candidate's last ones, others get new ones."""
        return self.inputs.for_calls(count, again=timed is self.baseline or timed in self.others.values())

    def call(self, timed: TimedWorker) -> Answer:
        """Make one call, which is no sample."""
        (draw,) = self._given(timed, 1)
        return self._call(timed, chance.choice(self.sets), draw)

    def call_again(self, timed: TimedWorker, before: Answer, changes: FewChanges) -> Answer:
        """Make one call, which is no sample, with a few elements of the previous call's inputs changed in place."""
        draw = self.inputs.last[0] = changes.changed(changes.in_place, before.draw)
        return self._call(timed, before.inputs, draw)

    def _call(self, timed: TimedWorker, inputs: InputSet, draw: Draw) -> Answer:
        with self._blaming(timed):
            return Answer(inputs, draw, *read_claim(timed.call(inputs, draw.arguments)[2]), self.calls)

    def calls_alone(self, timed: TimedWorker, *draws: Draw) -> Iterator[Answer]:
        """Make a call that is not timed, as in the rounds, for each of these inputs, at the same addresses. Yield its output."""
        inputs = chance.choice(self.sets)
        for each in draws:
            with self._blaming(timed):
                claim = read_claim(timed.call_untimed(inputs, each.arguments))
            yield Answer(inputs, each, *claim, self.calls)

    def warming_call(self, timed: TimedWorker) -> float:
        """Make one call, ignore its output, and return its time in ms, by the clock of the samples."""
        (draw,) = self._given(timed, 1)
        with self._blaming(timed):
            wall_ms, event_ms, _ = timed.call(chance.choice(self.sets), draw.arguments)
        return event_ms if self.on_device else wall_ms

    def block(self, timed: TimedWorker) -> list[Answer]:
        """Run a timing block. Its times are samples, unless `unsampled`."""
        return self._block(timed, self._chosen(), self._given(timed, self.length))

    def blocks_with(self, timed: TimedWorker, *draws: Draw) -> Iterator[Answer]:
        """Run a timing block for each of these inputs: one call has them, at the same place and addresses in each. Yield its output."""
        sets, place = self._chosen(), chance.randrange(self.length)
        for each in draws:
            given = self._given(timed, self.length)
            given[place] = each
            yield self._block(timed, sets, given)[place]

    def _chosen(self) -> list[InputSet]:
        """The memory for the inputs of a block."""
        return self.sets[: self.length] if self.protocol.replays else chance.sample(self.sets, self.length)

    def _block(self, timed: TimedWorker, sets: list[InputSet], draws: list[Draw]) -> list[Answer]:
        given = [(inputs, draw.arguments) for inputs, draw in zip(sets, draws, strict=True)]
        with self._blaming(timed):
            answers = [read_claim({"output": answer}) for answer in self.protocol.take(timed, given)]
        return [
            Answer(inputs, draw, *claim, self.calls, place)
            for place, (inputs, draw, claim) in enumerate(zip(sets, draws, answers, strict=True))
        ]

    @contextmanager
    def unsampled(self, timed: TimedWorker, changes: FewChanges | None = None) -> Iterator[None]:
        """In the body of `with`, the worker's calls are no samples. `changes`: at least one input of a block has these."""
        samples, timed.samples = timed.samples, Samples(self.on_device)
        try:
            with self.inputs.surely_changed(changes):
                yield
        finally:
            timed.samples = samples

    def host_blanks(self, timed: TimedWorker) -> Iterator[tuple[float, float]]:
        """Wall time and CPU time of requests for empty blocks, in ms, over the same inputs."""
        arguments = [draw.arguments for draw in self._given(timed, self.length)]
        given = list(zip(chance.sample(self.sets, self.length), arguments, strict=True))
        while True:
            yield timed.host_blank(given)

    @contextmanager
    def _blaming(self, timed: TimedWorker) -> Iterator[None]:
        """Raise BaselineFailedError if a baseline's worker breaks the protocol: it is not the candidate's fault."""
        try:
            yield
        except ProtocolError as error:
            if timed is self.candidate:
                raise
            raise BaselineFailedError(f"the baseline's worker broke the protocol: {error}") from error


def _working_gate(memory: SharedMemory) -> StreamGate | None:
    try:
        gate = StreamGate(memory)
    except RuntimeError:
        return None
    return gate if gate.works() else None

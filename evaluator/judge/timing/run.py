"""Time: candidate and baselines in workers of the same kind, in turns, over inputs that the candidate has not seen.

Calls are timed in blocks, one request each: how many calls and what a time is of, the protocol says (evaluator.judge.timing.protocols). After a
warm-up that lasts until times no longer change (evaluator.judge.timing.warmup), blocks follow each other, in an order drawn anew, until the
speedup is known to 1 % or the time is spent (evaluator.judge.timing.confidence).

On a GPU what the worker says of the time between two events is precise, but a claim. The judge's own clock is the witness: over calls that
wait at its gate until all is enqueued, one at a time and several back to back. On the CPU the time is the judge's, less the talk.

After any block of the candidate's, unannounced, the judge has answers revealed and compares them (evaluator.judge.timing.spot_check): who computes
only some of its answers doesn't know which. Or it watches what the candidate's processes go on doing. In the end the candidate is killed,
and the baseline goes through the same, alone and undisturbed: evaluator.judge.timing.cross_check holds the candidate's figures against these.
"""

import secrets
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from evaluator.judge.correctness.reference import Oracle
from evaluator.judge.timing.confidence import BUDGET, PRECISE, interval, is_narrow
from evaluator.judge.timing.cross_check import compare
from evaluator.judge.timing.gated_calls import GatedCalls, room_bytes
from evaluator.judge.timing.gpu.launch_lead import LaunchLead
from evaluator.judge.timing.interleave import Answer, Interleaver
from evaluator.judge.timing.protocols import Protocol, choose
from evaluator.judge.timing.spot_check import SpotCheck, WrongAnswerError
from evaluator.judge.timing.timed_worker import TimedWorker, UnrecordableError
from evaluator.judge.timing.warmup import WarmUp, warm_up
from evaluator.judge.workers.client import WorkerClient
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.problem.problem import ProblemCase
from evaluator.results.evidence import TimingEvidence, TimingSide
from evaluator.results.evidence.timing import is_slower
from evaluator.sandbox.affinity import kept_to

MIN_CALLS = 30
MIN_BLOCKS = 15
"""Fewer calls, or blocks of several, are never enough to be sure of the interval."""
ENOUGH_S = 1.0
CPU_ENOUGH_S = 0.5
"""With these done, stop after this much time, however wide the interval is."""
BUDGET_S = 2.0
"""Stop even before when calls alone have taken so long: slow kernels need fewer."""
LEAST_CALLS = 5
ASK_AGAIN = 1.2
"""How many times as many blocks there are when the interval is found the next time: finding it takes some milliseconds."""
MIN_REVEALS = 2
MIN_WATCHES = 5
SETTLED_REVEALS = 16
SETTLING_S = 0.5
"""As many answers are revealed as this, unless it takes longer: one that arrives late by chance must not pass for one that was put off."""
WATCH_S = (0.002, 0.02)
"""How long a worker is watched after an answer: as long as the baseline takes for one, within these limits."""
BLANKS = 32
"""Empty kernels whose time is taken, at the least."""
EMPTY_KERNEL_MS = 0.00065
"""What one takes by CUPTI, on an H200."""
EVENTS_MS = 0.003
"""What two events take there; what is taken off samples is measured each time, but not before the calls are done."""
ALONE_BLOCKS = 16
LEAST_ALONE_BLOCKS = 2
ALONE_S = 0.2
"""With these and LEAST_CALLS done, the baseline alone is called no longer than this."""

_random = secrets.SystemRandom()


class UnfitProtocolError(Exception):
    """There is no time to be had by the protocol that was asked for, of this candidate or this baseline. No verdict follows from that."""


class UnevenError(Exception):
    """The candidate had a head start, and its calls can't be held behind the gate after all: the host is in the judge's clock alone."""


class TimingRun:
    """The timing of one candidate against its baseline."""

    def __init__(
        self,
        candidate: WorkerClient,
        baseline: WorkerClient,
        case: ProblemCase,
        oracle: Oracle,
        form: Any,
        memory: SharedMemory,
        deadline_s: float,
        look: Callable[[], object] = lambda: None,
        protocol: Protocol | None = None,
        head_start: bool = True,
        others: Mapping[str, WorkerClient] | None = None,
        cores: Sequence[int] = (),
    ) -> None:
        """`form` is what an answer looks like (evaluator.judge.correctness.output_structure.form_of); `look` is called time and again, while nothing is timed;
        `protocol` is the device's default where none is given; with a `head_start` the host's time is in none of the candidate's, where the
        protocol and the candidate allow for that; `others` are further baselines by their kind; `cores` are those that the workers are kept
        to, and this thread while they are timed."""
        self._cores = tuple(cores)
        self._look, self._memory, self._deadline_s = look, memory, deadline_s
        self._on_device = memory.device.type == "cuda"
        self._protocol = protocol or choose(None, memory.device.type)
        self._candidate_leads = head_start
        self._turns = Interleaver(candidate, baseline, others or {}, case, memory, deadline_s, self._protocol)
        self._inspection = SpotCheck(self._turns, case, oracle, form, memory, deadline_s)
        candidate.hand_over(self._inspection.outputs, deadline_s)
        self._asked_at = 0
        """The number of blocks when the interval was found last."""

    def run(self) -> TimingEvidence:
        """Warm up, then time both until there are calls enough, then the baseline alone.

        Raises WrongAnswerError, BaselineFailedError, UnfitProtocolError, UnevenError, WorkerError, ProtocolError, ProblemError,
        ReferenceFailedError.
        """
        try:
            with kept_to(self._cores):
                return self._run()
        except UnrecordableError as error:
            raise UnfitProtocolError(str(error)) from error
        except WrongAnswerError as error:
            if not self._protocol.replays:
                raise
            # The graph may be at fault, which does what the host did once: it is no answer of the submission's as it is usually called.
            raise UnfitProtocolError(f"replayed, its answer is another: {error}") from error

    def _run(self) -> TimingEvidence:
        turns, candidate = self._turns, self._turns.candidate
        warmed = self._warm_up()
        self._warm_reveal(candidate)
        bursts = self._make_bursts()
        if bursts:
            self._warm_blocks(bursts.probe)
        stop = self._run_blocks()
        self._settle()
        strayed = any(side.strays(self._cores) for side in turns.sides)
        if bursts:
            self._inspection.in_bursts = True
            turns.forget_arguments()  # bursts draw their own
            bursts.run(candidate, self._inspection.compare, WrongAnswerError)
            if candidate.head_start.cycles and not candidate.is_gated:
                raise UnevenError
            bursts.time_kernels(candidate)
        candidate.worker.end()
        alone = self._run_alone(bursts)
        blank_ms = self._blank_ms(alone)
        sides = (side.summary(blank_ms) for side in (candidate, turns.baseline, alone))
        timing = compare(*sides, on_device=self._on_device, gated=candidate.is_gated, in_a_row=len(bursts.places) if bursts else 0)
        baseline = alone.samples_ms(blank_ms) if timing.disturbed else turns.baseline.samples_ms(blank_ms)
        observed: dict[str, Any] = {
            "calls": turns.calls,
            "unflushed": candidate.unflushed,
            "unflushed_bursts": candidate.unflushed_bursts,
            "protocol": self._protocol.name,
            "cores": self._cores,
            "strayed": strayed,
            "calls_in_block": turns.length,
            "blocks": turns.blocks,
            "warm_up_calls": warmed.calls,
            "steady": warmed.steady,
            "stop": stop,
            "interval": interval(candidate.samples_ms(blank_ms), baseline, turns.blocks, paired=not timing.disturbed),
            "others": self._others(blank_ms),
            "failed_baselines": turns.left_out,
        }
        return timing.model_copy(update=observed)

    def _warm_up(self) -> WarmUp:
        """Warm all sides up, and say by their times how many calls a block is of."""
        turns = self._turns
        warmed = warm_up(turns)
        answer_bytes = max(sum(allocation.nbytes for allocation in self._inspection.outputs), 1)
        room = min(turns.most_in_block, room_bytes(self._memory.device) // answer_bytes)
        turns.length = self._protocol.calls_in_block(warmed.call_ms, max(room, 1))
        return warmed

    def _warm_blocks(self, probe: Callable[[TimedWorker], None]) -> None:
        """Blocks that don't count, and a head start by what they say of the host. The baselines have it whatever the candidate does, which
        gains nothing by going without; where this machine has no gate, or the reference itself can't be held behind it, nobody has it."""
        turns, candidate = self._turns, self._turns.candidate
        self._run_block_of_each()
        if self._protocol.is_apart and candidate.gate is not None:
            for side in turns.sides:
                side.forget()
            self._run_block_of_each()
            turns.forget_arguments()
            if self._candidate_leads:
                probe(candidate)
            probe(turns.baseline)
            if turns.baseline.is_gated:
                self._lead([side for side in turns.sides if side is not candidate or (self._candidate_leads and side.is_gated)])
            self._run_block_of_each()
        for side in turns.sides:
            side.forget()

    def _lead(self, sides: Sequence[TimedWorker]) -> None:
        hosts_ms = [statistics.median(side.host_ms) for side in sides]
        answer_bytes = sum(allocation.nbytes for allocation in self._inspection.outputs)
        head_start = LaunchLead.of(hosts_ms, self._turns.length, self._memory.device, answer_bytes)
        for side in sides:
            side.head_start = head_start

    def _run_block_of_each(self) -> None:
        for side in tuple(self._turns.sides):
            with self._turns.sparing(side):
                self._turns.block(side)

    def _blank_ms(self, alone: TimedWorker) -> float:
        """What is in the time of a call that does nothing, by a worker that is trusted and undisturbed.

        On the CPU the least: on a busy machine more than that is sometimes the talk's and sometimes not, and would leave nothing of short
        calls. On a GPU, of two events around an empty kernel, less what such a kernel takes; nothing where the host is in the clock.
        """
        if not self._on_device:
            return min(alone.ping() for _ in range(MIN_CALLS))
        if not alone.head_start.cycles:
            return 0.0
        length = self._turns.most_in_block
        alone.blank(length)
        blanks_ms = [took_ms for _ in range(-(-BLANKS // length)) for took_ms in alone.blank(length)]
        return max(statistics.median(blanks_ms) - EMPTY_KERNEL_MS, 0.0)

    def _make_bursts(self) -> GatedCalls | None:
        """The judge's own witness on a GPU; on the CPU all of the time is the judge's."""
        if not self._on_device:
            return None
        turns, seen = self._turns, self._inspection
        areas = turns.flush.areas if turns.flush else None
        drawing = (turns.draw, seen.sampler.draw, areas)
        bursts = GatedCalls(self._memory, turns.sets, seen.outputs, seen.shapes, *drawing, replayed=self._protocol.replays)
        turns.candidate.worker.hand_over(bursts.allocations[len(seen.outputs) :], self._deadline_s)
        return bursts

    def _run_blocks(self) -> str:
        """A block of each side, in an order drawn anew, until there are enough; why they are."""
        turns = self._turns
        start = time.monotonic()
        while not (stop := self._stop(time.monotonic() - start)):
            turns.calls += turns.length
            turns.blocks += 1
            for side in _random.sample(turns.sides, len(turns.sides)):
                with turns.sparing(side):
                    self._inspect(side, turns.block(side))
            self._look()
        return stop

    def _inspect(self, side: TimedWorker, answers: list[Answer]) -> None:
        """Look at a block's answers: at the form of all of them, and at what some of the candidate's hold."""
        if side is self._turns.candidate and self._inspection.is_due():
            least = MIN_CALLS if self._turns.length == 1 else MIN_BLOCKS
            self._inspection.look_into(answers, max(least, self._turns.blocks))
        elif side is self._turns.candidate:
            self._watch(side)
        for answer in answers:
            self._inspection.match(side, answer)
        side.check_flush(len(answers))

    def _stop(self, elapsed_s: float) -> str:
        """Why there are blocks enough; empty where there are not."""
        turns = self._turns
        if turns.calls < LEAST_CALLS or turns.blocks < 1:
            return ""
        if turns.calls >= MIN_CALLS and turns.blocks >= MIN_BLOCKS:
            if turns.blocks >= ASK_AGAIN * self._asked_at and self._is_precise():
                return PRECISE
            if elapsed_s >= (ENOUGH_S if self._on_device else CPU_ENOUGH_S):
                return BUDGET
        spent_ms = turns.length * sum(wall_ms - side.head_start.ms for side in turns.sides for wall_ms in side.wall_ms)
        return BUDGET if spent_ms >= BUDGET_S * 1e3 else ""

    def _is_precise(self) -> bool:
        """Whether the ratio is known as closely as is asked for."""
        self._asked_at = self._turns.blocks
        blank_ms = EVENTS_MS if self._on_device else 0.0
        candidate_ms, baseline_ms = (side.samples_ms(blank_ms) for side in (self._turns.candidate, self._turns.baseline))
        return is_narrow(interval(candidate_ms, baseline_ms, self._turns.blocks))

    def _watch(self, side: TimedWorker) -> None:
        """Leave the worker to itself for a while. One on a GPU waits awake for requests; there the bursts tell what is left for later."""
        if not self._on_device:
            shortest_s, longest_s = WATCH_S
            took_ms = self._turns.baseline.wall_ms
            side.watch(min(max(took_ms[-1] / 1e3, shortest_s), longest_s) if took_ms else shortest_s)

    def _settle(self) -> None:
        """Watch, and reveal, until that has been done often enough; these calls are no samples."""
        side, deadline = self._turns.candidate, time.monotonic() + SETTLING_S
        while True:
            reveals = SETTLED_REVEALS if time.monotonic() < deadline else MIN_REVEALS
            if len(side.reveal_ms) < reveals:
                is_checked = len(side.reveal_ms) < MIN_REVEALS
                answer = self._turns.call(side)
                taken = self._inspection.reveal(side, answer)
                if is_checked:
                    self._inspection.check(taken, answer)
            elif len(side.background_ms) < MIN_WATCHES and not self._on_device:
                self._inspection.match(side, self._turns.call(side))
                self._watch(side)
            else:
                return

    def _warm_reveal(self, side: TimedWorker) -> None:
        """One reveal that does not count, to warm the path."""
        answer = self._turns.call(side)
        taken = self._inspection.reveal(side, answer)
        if side is self._turns.candidate:
            self._inspection.check(taken, answer)
        side.forget_reveals()

    def _run_alone(self, bursts: GatedCalls | None) -> TimedWorker:
        """The baseline with the candidate gone: what everything costs where nobody wants it to look long or short. It copies its answers
        where the candidate had to: between calls, but in the requests' time."""
        turns, alone = self._turns, self._turns.anew(self._turns.baseline)
        alone.copies = turns.candidate.copies and turns.length > 1
        alone.worker.hand_over(bursts.allocations if bursts else self._inspection.outputs, self._deadline_s)
        self._warm_reveal(alone)
        for number, answers in enumerate(self._blocks_alone(alone)):
            if number % 2:
                self._inspection.reveal(alone, _random.choice(answers))
            else:
                self._watch(alone)
            del answers
        if bursts:
            turns.call(alone)
            turns.forget_arguments()
            bursts.run_idle(alone, turns.candidate)
        return alone

    def _blocks_alone(self, alone: TimedWorker) -> Iterator[list[Answer]]:
        """A few blocks of this side."""
        start = time.monotonic()
        for number in range(ALONE_BLOCKS):
            is_enough = number >= LEAST_ALONE_BLOCKS and number * self._turns.length >= LEAST_CALLS
            if is_enough and time.monotonic() - start > ALONE_S:
                return
            yield self._turns.block(alone)
            self._look()

    def _others(self, blank_ms: float) -> dict[str, TimingSide]:
        """The further baselines: as the eager one, each counts as it is without the candidate where it is clearly faster so."""
        found: dict[str, TimingSide] = {}
        for kind, side in tuple(self._turns.others.items()):
            with self._turns.sparing(side):
                alone = self._turns.anew(side)
                for _ in self._blocks_alone(alone):
                    pass
                beside, without = side.summary(blank_ms), alone.summary(blank_ms)
                found[kind] = without if is_slower(beside, without) else beside
        return found

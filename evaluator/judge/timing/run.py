"""One timing: candidate and baselines in workers of the same kind, in turns, over inputs that the candidate has not seen.

Calls are timed in timing blocks, one request each. The timing protocol chooses the calls per block, and what is measured. After a warm-up,
blocks run in random order until the stopping criterion is met: the speedup is known to 1 %, or the time limit is reached.

On a GPU the time between two events in the worker is precise, but a claim. The judge checks it by its own clock, over calls that wait at
its gate until all are enqueued, singly and in bursts. On the CPU the judge's clock counts, minus the time of an empty request.

After random blocks of the candidate, the judge compares outputs or watches the candidate's processes (spot_check). In the end the judge
kills the candidate, and times the baseline alone in the same way (baseline_alone). It compares the candidate's figures with these
(cross_check).
"""

import logging
import statistics
import time
from dataclasses import dataclass
from typing import Any

from evaluator.chance import chance
from evaluator.judge import limits
from evaluator.judge.again import Again, Reason
from evaluator.judge.device.cpu_contention import CpuContention
from evaluator.judge.timing.baseline_alone import BaselineAlone
from evaluator.judge.timing.checks.ask_again import ask_again
from evaluator.judge.timing.checks.cross_check import Sides, compare
from evaluator.judge.timing.checks.gated_calls import GatedCalls, Supplies
from evaluator.judge.timing.checks.spot_check import SpotCheck, WrongAnswerError
from evaluator.judge.timing.cpu.judge_place import JudgePlace
from evaluator.judge.timing.effort import Effort
from evaluator.judge.timing.interleave import Interleaver
from evaluator.judge.timing.setup import Participants, TimedCase, TimingOptions
from evaluator.judge.timing.statistics.speedup import interval, is_narrow
from evaluator.judge.timing.statistics.statistic_choice import statistics_of, usual_statistic
from evaluator.judge.timing.timed_worker import UnrecordableError
from evaluator.judge.timing.warmup import WarmUp, give_launch_lead, warm_blocks, warm_up
from evaluator.results.evidence import TimingEvidence
from evaluator.results.evidence.timing import Statistic

NARROW, BUDGET = "precise", "budget"
"""Stored reasons to stop: the speedup's confidence interval is narrow enough, or the time limit is reached."""
ASK_AGAIN = 1.2
"""Growth of the number of blocks before the interval is computed again, which takes some milliseconds."""
EVENTS_MS = 0.003
"""Approximate time of two events on an H200. The time subtracted from samples is measured each time, but only after the calls."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Beside:
    """Figures of the interleaved calls, kept until the baselines were timed alone."""

    warmed: WarmUp
    gated_calls: GatedCalls | None
    elsewhere_ms: float
    stop: str
    strayed: bool


class TimingRun:
    """The timing of one candidate against its baselines."""

    def __init__(
        self, participants: Participants, timed_case: TimedCase, options: TimingOptions, earlier: "TimingRun | None" = None
    ) -> None:
        """`earlier` is the timing of another case of the same participants. Raises WorkerError, ProblemError."""
        self._room_bytes, self._oracle = timed_case.room_bytes, timed_case.oracle
        self._options, self._memory, self._deadline_s = options, timed_case.memory, timed_case.deadline_s
        self._on_device = timed_case.on_device
        self._spending = participants.candidate.times.spending
        with self._spending("sharing"):
            self._interleaver: Interleaver = Interleaver(
                participants, timed_case, options.protocol, earlier._interleaver if earlier else None
            )
            self._place = JudgePlace(options.cores)
            self._spot_check = SpotCheck(self._interleaver, timed_case, self._place, options.effort, is_slow=options.is_slow)
            participants.candidate.hand_over(self._spot_check.outputs, timed_case.deadline_s)
        self._beside: _Beside | None = None
        """Set after candidate and baselines were timed in turns."""

    def time_in_turns(self) -> None:
        """Warm up, then time candidate and baselines in turns until there are enough calls.

        Raises Again, WrongAnswerError, BaselineFailedError, WorkerError, ProtocolError, ProblemError, ReferenceFailedError.
        """
        try:
            with self._place.kept():
                self._beside = self._time_in_turns()
        except UnrecordableError as error:
            raise self._unfit(str(error)) from error
        except WrongAnswerError as error:
            if self._options.protocol.replays:
                # The graph repeats the host's work of one call. So this may be the graph's fault, and not an error of normal calls.
                raise self._unfit(f"a graph replay gives another output: {error}") from error
            self._ask_again(error)
            raise

    def _unfit(self, why: str) -> Again:
        return Again(Reason.UNFIT_PROTOCOL, f"{self._options.protocol.name}: {why}")

    def _ask_again(self, error: WrongAnswerError) -> None:
        """Complete the evidence of a wrong output. If that fails, the output stays wrong. Raises the error of a worker that broke out."""
        candidate = self._interleaver.candidate.worker
        try:
            with candidate.unjudged():
                error.evidence = ask_again(error, self._interleaver, self._spot_check, self._oracle)
        except Exception as failure:
            if candidate.broke_out:
                raise
            log.info("not asked again: %s", failure, exc_info=True)

    def _time_in_turns(self) -> "_Beside":
        interleaver, candidate, cores = self._interleaver, self._interleaver.candidate, self._options.cores
        with self._spending("warm-up"):
            warmed = self._warm_up()
            self._spot_check.warm_reveal(candidate)
        with self._spending("sharing"):
            gated_calls = self._make_gated_calls()
        with self._spending("warm-up"):
            self._warm_blocks(gated_calls, warmed)
        before_ms = candidate.elsewhere_ms()
        stop = self._run_blocks()
        elsewhere_ms = candidate.elsewhere_ms() - before_ms
        if self._options.is_slow and not self._is_still_slow():
            raise Again(Reason.NOT_SLOW)
        with self._spending("reveals"):
            self._spot_check.settle()
        strayed = any(timed.strays(cores) for timed in interleaver.timed_workers)
        if gated_calls:
            with self._spending("gated calls"):
                self._run_gated(gated_calls)
        return _Beside(warmed, gated_calls, elsewhere_ms, stop, strayed)

    def time_alone(self) -> TimingEvidence:
        """Time the baselines after the candidate has ended, and return the whole timing. Raises BaselineFailedError, WorkerError,
        ProtocolError, ProblemError, ReferenceFailedError."""
        with self._place.kept():
            return self._time_alone()

    def _time_alone(self) -> TimingEvidence:
        assert self._beside is not None
        interleaver, candidate, cores = self._interleaver, self._interleaver.candidate, self._options.cores
        gated_calls, beside = self._beside.gated_calls, self._beside
        with self._spending("baseline alone"):
            baseline_alone = BaselineAlone(interleaver, self._spot_check, self._deadline_s, self._options.look)
            contention = CpuContention(filter(None, [interleaver.baseline.worker.channel.peer_pid]))
            alone = baseline_alone.run(gated_calls, self._options.effort)
            blank = baseline_alone.blank(alone, one_core=len(cores) == 1)
            blank_ms = blank.ms
        in_a_row = len(gated_calls.places) if gated_calls else 0
        of_candidate, of_baseline, of_alone = (timed.summary(blank_ms) for timed in (candidate, interleaver.baseline, alone))
        sides = Sides(of_candidate, of_baseline, of_alone, candidate.is_gated, in_a_row, interleaver.length)
        timing = compare(sides, on_device=self._on_device)
        statistic, of_baselines = statistics_of(timing, cores, beside.elsewhere_ms, interleaver.length)
        timing = timing.model_copy(update={"statistic": statistic, "baseline_statistic": of_baselines})
        baseline_ms = (alone if timing.disturbed else interleaver.baseline).samples_ms(blank_ms)
        observed: dict[str, Any] = {
            "calls": interleaver.calls,
            "unflushed": candidate.samples.unflushed,
            "unflushed_bursts": candidate.samples.unflushed_bursts,
            "slow_requests": blank.is_slow,
            "waiting": None if self._on_device else contention.share(),
            "protocol": self._options.protocol.name,
            "cores": tuple(cores),
            "strayed": beside.strayed,
            "calls_in_block": interleaver.length,
            "blocks": interleaver.blocks,
            "warm_up_calls": beside.warmed.calls,
            "steady": beside.warmed.steady,
            "stop": beside.stop,
            "interval": interval(
                candidate.samples_ms(blank_ms),
                baseline_ms,
                interleaver.blocks,
                paired=not timing.disturbed,
                statistic=statistic,
                of_baseline=of_baselines,
            ),
            "others": baseline_alone.others(blank_ms, of_baselines),
            "failed_baselines": interleaver.left_out,
        }
        return timing.model_copy(update=observed)

    def _warm_up(self) -> WarmUp:
        """Warm all workers up, and choose the calls per block by their times."""
        interleaver = self._interleaver
        warmed = warm_up(interleaver, self._options.effort.warm_up_s, is_slow=self._options.is_slow)
        room = min(interleaver.most_in_block, self._room_bytes // max(self._spot_check.answer_bytes, 1))
        interleaver.length = self._options.protocol.calls_in_block(warmed.call_ms, max(room, 1))
        return warmed

    def _make_gated_calls(self) -> GatedCalls | None:
        """The judge's own measurement on a GPU; on the CPU all times are the judge's."""
        if not self._on_device:
            return None
        interleaver, seen, options = self._interleaver, self._spot_check, self._options
        areas = interleaver.flush.areas if interleaver.flush else None
        supplies = Supplies(
            interleaver.sets, interleaver.inputs.draw, seen.outputs, seen.shapes, seen.sampler.draw, self._room_bytes, areas
        )
        gated_calls = GatedCalls(self._memory, supplies, options.effort, replayed=options.protocol.replays, is_slow=options.is_slow)
        interleaver.candidate.worker.hand_over(gated_calls.allocations[len(seen.outputs) :], self._deadline_s)
        return gated_calls

    def _warm_blocks(self, gated_calls: GatedCalls | None, warmed: WarmUp) -> None:
        """Run blocks that don't count. On a GPU they decide the launch lead."""
        interleaver = self._interleaver
        if gated_calls and warmed.call_ms < limits.LONG_CALL_MS:
            warm_blocks(interleaver)
            answer_bytes, candidate_may = self._spot_check.answer_bytes, self._options.launch_lead
            give_launch_lead(interleaver, gated_calls.probe, answer_bytes, candidate_may=candidate_may)
        elif gated_calls is None and interleaver.length > 1:
            warm_blocks(interleaver)

    def _run_gated(self, gated_calls: GatedCalls) -> None:
        """Raises Again, and the errors of gated calls."""
        candidate = self._interleaver.candidate
        self._interleaver.inputs.forget()  # bursts make their own
        gated_calls.run(candidate, self._spot_check.compare, WrongAnswerError)
        if candidate.launch_lead.cycles and not candidate.is_gated:
            raise Again(Reason.UNEVEN)
        gated_calls.time_kernels(candidate)

    def _is_still_slow(self) -> bool:
        candidate_ms, baseline_ms = (statistics.median(timed.samples_ms(0.0)) for timed in self._interleaver.timed_workers[:2])
        return candidate_ms > max(limits.STILL_SLOW_FACTOR * baseline_ms, limits.STILL_SLOW_MS)

    def _run_blocks(self) -> str:
        """Run a block of each worker, in random order, until there are enough. Returns the reason to stop."""
        interleaver, options = self._interleaver, self._options
        criterion = StoppingCriterion(interleaver, usual_statistic(options.cores), options.effort, is_slow=options.is_slow)
        probes, start = 0 if options.is_slow else limits.OUTLIER_BLOCKS, time.monotonic()
        while not (stop := criterion.reason(time.monotonic() - start)):
            interleaver.calls += interleaver.length
            interleaver.blocks += 1
            timed_workers = interleaver.timed_workers
            for timed in chance.sample(timed_workers, len(timed_workers)):
                with interleaver.sparing(timed):
                    self._spot_check.inspect(timed, interleaver.block(timed))
            self._options.look()
            if probes and chance.random() < limits.OUTLIER_SHARE:
                probes -= 1
                self._spot_check.probe()
        for _ in range(probes):
            self._spot_check.probe()
        return stop


class StoppingCriterion:
    """Decides after each block whether there are enough of them."""

    def __init__(self, interleaver: Interleaver, statistic: Statistic, effort: Effort, *, is_slow: bool = False) -> None:
        self._interleaver, self._statistic, self._effort, self._is_slow = interleaver, statistic, effort, is_slow
        self._asked_at = 0
        """Number of blocks when the interval was last computed."""

    def reason(self, elapsed_s: float) -> str:
        """The reason to stop, `elapsed_s` after the first block began; empty to go on."""
        now = self._interleaver
        if self._is_slow:
            return BUDGET if now.calls >= limits.SLOW_CALLS else ""
        if now.calls < limits.LEAST_CALLS or now.blocks < 1:
            return ""
        if now.calls >= limits.MIN_CALLS and now.blocks >= self._effort.least_blocks:
            if now.blocks >= ASK_AGAIN * self._asked_at and self._is_narrow():
                return NARROW
            if elapsed_s >= self._effort.enough_s:
                return BUDGET
        spent_s = now.length * sum(wall_ms - timed.launch_lead.ms for timed in now.timed_workers for wall_ms in timed.samples.wall_ms) / 1e3
        if elapsed_s >= limits.LONG_S and now.blocks >= max(limits.LONG_BLOCKS, ASK_AGAIN * self._asked_at) and self._is_narrow():
            return NARROW
        return BUDGET if spent_s >= limits.BUDGET_S else ""

    def _is_narrow(self) -> bool:
        self._asked_at = self._interleaver.blocks
        blank_ms = EVENTS_MS if self._interleaver.on_device else 0.0
        candidate_ms, baseline_ms = (timed.samples_ms(blank_ms) for timed in (self._interleaver.candidate, self._interleaver.baseline))
        return is_narrow(interval(candidate_ms, baseline_ms, self._interleaver.blocks, statistic=self._statistic))

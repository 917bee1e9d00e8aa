"""One timing: candidate and baselines in workers of the same kind, in turns, over inputs that the candidate has not seen.

Calls are timed in blocks, one request each; the timing protocol says how many calls a block has and what is measured. After a warm-up,
blocks follow each other in random order until the stopping criterion is met: the speedup is known to 1 %, or the time is spent.

On a GPU the time between two events in the worker is precise, but a claim. The judge checks it by its own clock, over calls that wait at
its gate until all are enqueued, singly and in bursts. On the CPU the time is the judge's, less that of an empty request.

After any block of the candidate's, unannounced, the judge compares answers or watches the candidate's processes (spot_check). In the end
the candidate is killed, and the baseline goes through the same alone (baseline_alone). The candidate's figures are held against these
(cross_check).
"""

import secrets
import statistics
import time
from typing import Any

from evaluator.judge.timing.baseline_alone import BaselineAlone
from evaluator.judge.timing.cross_check import compare
from evaluator.judge.timing.gated_calls import GatedCalls, Supplies
from evaluator.judge.timing.interleave import Interleaver
from evaluator.judge.timing.judge_place import JudgePlace
from evaluator.judge.timing.setup import Participants, TimedCase, TimingOptions, room_bytes
from evaluator.judge.timing.speedup import interval
from evaluator.judge.timing.spot_check import SpotCheck, WrongAnswerError
from evaluator.judge.timing.statistic import statistic_of, usual_statistic
from evaluator.judge.timing.stopping import StoppingCriterion
from evaluator.judge.timing.timed_worker import UnrecordableError
from evaluator.judge.timing.warmup import WarmUp, give_launch_lead, warm_blocks, warm_up
from evaluator.results.evidence import TimingEvidence

LONG_CALL_MS = 20.0
"""Calls of this length need no launch lead: what the host takes for their first launch is a thousandth of them."""
STILL_SLOW_FACTOR = 5
STILL_SLOW_MS = 20.0
"""A candidate that was slow by far is so still where it takes so many times as long as the baseline, and so long. Of short calls three
are too few: other programs may have lengthened two of them."""

_random = secrets.SystemRandom()


class UnfitProtocolError(Exception):
    """The protocol that was asked for gives no time of this candidate or this baseline. No verdict follows from that."""


class NotSlowError(Exception):
    """The candidate, which was slow by far in the rounds, and so was asked for little, is not so in the timing. No verdict follows."""


class UnevenError(Exception):
    """The candidate had a launch lead, but its calls can't be held behind the gate: only the judge's clock has its host's time in it."""


class TimingRun:
    """The timing of one candidate against its baselines."""

    def __init__(self, participants: Participants, timed_case: TimedCase, options: TimingOptions) -> None:
        """Raises WorkerError, ProblemError."""
        self._options, self._memory, self._deadline_s = options, timed_case.memory, timed_case.deadline_s
        self._on_device = timed_case.on_device
        self._spending = participants.candidate.times.spending
        with self._spending("sharing"):
            self._interleaver = Interleaver(participants, timed_case, options.protocol)
            self._place = JudgePlace(options.cores)
            self._spot_check = SpotCheck(self._interleaver, timed_case, self._place, is_slow=options.is_slow)
            participants.candidate.hand_over(self._spot_check.outputs, timed_case.deadline_s)

    def run(self) -> TimingEvidence:
        """Warm up, then time all until there are calls enough, then the baselines alone.

        Raises WrongAnswerError, BaselineFailedError, UnfitProtocolError, UnevenError, NotSlowError, WorkerError, ProtocolError,
        ProblemError, ReferenceFailedError.
        """
        try:
            with self._place.kept():
                return self._run()
        except UnrecordableError as error:
            raise UnfitProtocolError(str(error)) from error
        except WrongAnswerError as error:
            if not self._options.protocol.replays:
                raise
            # The graph, which repeats what the host did once, may be at fault: the submission does not answer so when it is called.
            raise UnfitProtocolError(f"replayed, its answer is another: {error}") from error

    def _run(self) -> TimingEvidence:
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
            raise NotSlowError
        with self._spending("reveals"):
            self._spot_check.settle()
        strayed = any(timed.strays(cores) for timed in interleaver.timed_workers)
        if gated_calls:
            with self._spending("gated calls"):
                self._run_gated(gated_calls)
        with self._spending("end of candidate"):
            candidate.worker.end()
        with self._spending("baseline alone"):
            baseline_alone = BaselineAlone(interleaver, self._spot_check, self._deadline_s, self._options.look)
            alone = baseline_alone.run(gated_calls)
            blank_ms = baseline_alone.blank_ms(alone)
        summaries = (timed.summary(blank_ms) for timed in (candidate, interleaver.baseline, alone))
        in_a_row = len(gated_calls.places) if gated_calls else 0
        gated, in_block = candidate.is_gated, interleaver.length
        timing = compare(*summaries, on_device=self._on_device, gated=gated, in_a_row=in_a_row, in_block=in_block)
        statistic = statistic_of(timing, cores, elsewhere_ms, interleaver.length)
        baseline_ms = (alone if timing.disturbed else interleaver.baseline).samples_ms(blank_ms)
        observed: dict[str, Any] = {
            "calls": interleaver.calls,
            "unflushed": candidate.samples.unflushed,
            "unflushed_bursts": candidate.samples.unflushed_bursts,
            "protocol": self._options.protocol.name,
            "cores": tuple(cores),
            "strayed": strayed,
            "calls_in_block": interleaver.length,
            "blocks": interleaver.blocks,
            "warm_up_calls": warmed.calls,
            "steady": warmed.steady,
            "stop": stop,
            "statistic": statistic,
            "interval": interval(
                candidate.samples_ms(blank_ms), baseline_ms, interleaver.blocks, paired=not timing.disturbed, statistic=statistic
            ),
            "others": baseline_alone.others(blank_ms),
            "failed_baselines": interleaver.left_out,
        }
        return timing.model_copy(update=observed)

    def _warm_up(self) -> WarmUp:
        """Warm all workers up, and choose by their times how many calls a block has."""
        interleaver = self._interleaver
        warmed = warm_up(interleaver, is_slow=self._options.is_slow)
        room = min(interleaver.most_in_block, room_bytes(self._memory.device) // max(self._spot_check.answer_bytes, 1))
        interleaver.length = self._options.protocol.calls_in_block(warmed.call_ms, max(room, 1))
        return warmed

    def _make_gated_calls(self) -> GatedCalls | None:
        """The judge's own measurement on a GPU; on the CPU all times are the judge's."""
        if not self._on_device:
            return None
        interleaver, seen = self._interleaver, self._spot_check
        areas = interleaver.flush.areas if interleaver.flush else None
        supplies = Supplies(interleaver.sets, interleaver.draw, seen.outputs, seen.shapes, seen.sampler.draw, areas)
        gated_calls = GatedCalls(self._memory, supplies, replayed=self._options.protocol.replays, is_slow=self._options.is_slow)
        interleaver.candidate.worker.hand_over(gated_calls.allocations[len(seen.outputs) :], self._deadline_s)
        return gated_calls

    def _warm_blocks(self, gated_calls: GatedCalls | None, warmed: WarmUp) -> None:
        """Blocks that don't count; on a GPU the launch lead is chosen by them."""
        interleaver = self._interleaver
        if gated_calls and warmed.call_ms < LONG_CALL_MS:
            warm_blocks(interleaver)
            answer_bytes, candidate_may = self._spot_check.answer_bytes, self._options.launch_lead
            give_launch_lead(interleaver, gated_calls.probe, answer_bytes, candidate_may=candidate_may)
        elif gated_calls is None and interleaver.length > 1:
            warm_blocks(interleaver)

    def _run_gated(self, gated_calls: GatedCalls) -> None:
        """Raises UnevenError, and what a gated call does."""
        candidate = self._interleaver.candidate
        self._spot_check.in_bursts = True
        self._interleaver.forget_arguments()  # bursts draw their own
        gated_calls.run(candidate, self._spot_check.compare, WrongAnswerError)
        if candidate.launch_lead.cycles and not candidate.is_gated:
            raise UnevenError
        gated_calls.time_kernels(candidate)

    def _is_still_slow(self) -> bool:
        candidate_ms, baseline_ms = (statistics.median(timed.samples_ms(0.0)) for timed in self._interleaver.timed_workers[:2])
        return candidate_ms > max(STILL_SLOW_FACTOR * baseline_ms, STILL_SLOW_MS)

    def _run_blocks(self) -> str:
        """A block of each worker, in an order drawn anew, until there are enough; the reason to stop."""
        interleaver, options = self._interleaver, self._options
        criterion = StoppingCriterion(interleaver, usual_statistic(options.cores), is_slow=options.is_slow)
        start = time.monotonic()
        while not (stop := criterion.reason(time.monotonic() - start)):
            interleaver.calls += interleaver.length
            interleaver.blocks += 1
            timed_workers = interleaver.timed_workers
            for timed in _random.sample(timed_workers, len(timed_workers)):
                with interleaver.sparing(timed):
                    self._spot_check.inspect(timed, interleaver.block(timed))
            self._options.look()
        return stop

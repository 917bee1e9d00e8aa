"""Finds time that the candidate's claims omit: each of the judge's measurements, compared with the baseline alone.

The baseline's worker is trusted. Its requests without calls show the overhead: copying inputs and outputs, the flush, the messages. It is
measured after the candidate was killed, since the candidate would gain if this overhead looked high.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from evaluator.judge import limits
from evaluator.judge.timing.statistics.samples import Samples
from evaluator.results.evidence import TimingEvidence, TimingSide


class Sides(NamedTuple):
    """The sides of a timing."""

    candidate: TimingSide
    baseline: TimingSide
    alone: TimingSide
    """The baseline after the candidate has ended."""
    gated: bool = True
    """Whether the judge's clock ran behind the gate."""
    in_a_row: int = 0
    """Calls per burst."""
    in_block: int = 1
    """Calls per timing block."""


Of: TypeAlias = Callable[[Sequence[float]], float]
"""Chooses the time that counts."""
Slack: TypeAlias = Callable[[Sides, float], float]
"""How much longer than usual, in ms, is no charge. It gets the usual time."""


def least(times_ms: Sequence[float]) -> float:
    """The minimum, for requests whose outputs are all compared: other programs delay most requests, and speed up none."""
    return min(times_ms)


def second_least(times_ms: Sequence[float]) -> float:
    """The second smallest, for requests of which only some outputs are compared: a submission could get the minimum by luck."""
    return sorted(times_ms)[:2][-1]


def _lowest_decile(times_ms: Sequence[float]) -> float:
    return sorted(times_ms)[len(times_ms) // 10]


def _lower_quartile(times_ms: Sequence[float]) -> float:
    return sorted(times_ms)[len(times_ms) // 4]


def _upper_quartile(times_ms: Sequence[float]) -> float:
    """The upper quartile; of few times the median, since the largest of few means little."""
    return sorted(times_ms)[(len(times_ms) * 3 - 1) // 4] if len(times_ms) >= 4 else statistics.median(times_ms)


def _claim_ms(side: TimingSide) -> float:
    return side.claim_ms


def _claim_in_burst_ms(side: TimingSide) -> float:
    """Bursts have no events, but gaps between kernels."""
    return side.median_ms + min(side.blank_ms, limits.LAUNCH_GAP_MS)


@dataclass(frozen=True)
class Excess:
    """One measurement. What it shows of the candidate beyond the baseline alone is charged, if that exceeds the slack."""

    charge: str
    """The field of TimingEvidence for the charge. Of several measurements, the one that shows most counts."""
    samples: str
    """The field of TimingSide with the measured times."""
    slack_ms: Slack
    of: Of = statistics.median
    of_usual: Of | None = None
    """The choice of the baseline's time, if it is another."""
    claim_ms: Callable[[TimingSide], float] | None = None
    """The claim that the candidate's times contain. The baseline makes the same requests without calls."""

    def times_ms(self, samples: Samples) -> list[float]:
        """The measured times, while they are measured."""
        times_ms: list[float] = getattr(samples, self.samples)
        return times_ms

    def excess_ms(self, sides: Sides) -> tuple[float, float]:
        """How much longer than usual, and what is usual; none if it was not measured."""
        found_ms, usual_ms = getattr(sides.candidate, self.samples), getattr(sides.alone, self.samples)
        if not found_ms or not usual_ms:
            return 0.0, 0.0
        usually_ms = (self.of_usual or self.of)(usual_ms)
        return self.of(found_ms) - usually_ms - (self.claim_ms(sides.candidate) if self.claim_ms else 0.0), usually_ms

    def charged_ms(self, sides: Sides) -> float:
        """The excess; 0 within the slack."""
        late_ms, usual_ms = self.excess_ms(sides)
        return late_ms if late_ms > self.slack_ms(sides, usual_ms) else 0.0


class WholeRequests(Excess):
    """Requests beyond the claims for their calls, compared with the baseline's in turns and alone."""

    def excess_ms(self, sides: Sides) -> tuple[float, float]:
        """The lowest decile, since other processes may delay most requests. Not the minimum, since an output may sometimes be deferred."""
        side, usual_ms = sides.candidate, max(map(self._trusted_ms, (sides.baseline, sides.alone)))
        return _lowest_decile(side.wall_ms) - side.claim_ms - side.launch_lead_ms - usual_ms, usual_ms

    @staticmethod
    def _trusted_ms(side: TimingSide) -> float:
        """Time beyond the baseline's claims, request by request, so the spread of its calls cancels, which may exceed the candidate's
        calls.

        Not for a candidate, which could cheat with a few long claims and short requests.
        """
        count = len(side.samples_ms) // len(side.wall_ms)
        calls_ms = (statistics.mean(side.samples_ms[number * count :][:count]) for number in range(len(side.wall_ms)))
        beside_ms = [wall_ms - call_ms for wall_ms, call_ms in zip(side.wall_ms, calls_ms, strict=True)]
        return _lowest_decile(beside_ms) - side.blank_ms - side.launch_lead_ms


@dataclass(frozen=True)
class WatchedCalls(Excess):
    """Median CPU time of watched calls, each with the work after it, minus the median call.

    The judge chooses the watched calls at random after they end. A submission that defers the work of some calls, depending on which were
    watched before, can lower the median of the calls, and that of the work after them, but not this sum.
    """

    calls: str = ""
    """The field of TimingSide with the CPU time of the watched calls."""

    def excess_ms(self, sides: Sides) -> tuple[float, float]:
        side, usual_ms = sides.candidate, getattr(sides.alone, self.samples)
        busy_ms, more_ms = getattr(side, self.calls), getattr(side, self.samples)
        if not busy_ms or not usual_ms or not side.busy_ms:
            return 0.0, 0.0
        usually_ms = statistics.median(usual_ms)
        whole_ms = [call_ms + max(after_ms - usually_ms, 0.0) for call_ms, after_ms in zip(busy_ms, more_ms, strict=True)]
        return statistics.median(whole_ms) - statistics.median(side.busy_ms), side.work_ms


def _row_slack_ms(sides: Sides, usual_ms: float, calls: int) -> float:
    """Slack per call of a row. usual_ms: its time per call without the calls."""
    if not sides.gated:
        return limits.UNGATED_SLACK_MS / calls
    return max(limits.ROW_SLACK_MS / calls, limits.ROW_SLACK_SHARE * usual_ms)


def _single_slack_ms(sides: Sides, usual_ms: float) -> float:
    return max(_row_slack_ms(sides, usual_ms, 1), limits.SLACK_SHARE * sides.candidate.median_ms)


def _burst_slack_ms(sides: Sides, usual_ms: float) -> float:
    claim_ms, row_ms = sides.candidate.median_ms, _row_slack_ms(sides, usual_ms, max(sides.in_a_row, 1))
    return max(min(row_ms, limits.BURST_SLACK_SHARE * claim_ms), limits.SLACK_SHARE * claim_ms)


def _talk_slack_ms(sides: Sides, _: float) -> float:
    return max(limits.TALK_SLACK_MS, limits.SLACK_SHARE * sides.candidate.median_ms)


def _arrival_slack_ms(_: Sides, usual_ms: float) -> float:
    return max(limits.TALK_SLACK_MS, limits.REVEAL_SLACK_SHARE * usual_ms)


def _reveal_slack_ms(_: Sides, usual_ms: float) -> float:
    return max(limits.CPU_SLACK_MS, limits.REVEAL_SLACK_SHARE * usual_ms)


def _request_slack_ms(sides: Sides, _: float) -> float:
    return limits.CPU_SLACK_MS / sides.in_block


SINGLE = Excess("unclaimed_ms", "single_ms", _single_slack_ms, least, claim_ms=_claim_ms)
BURST = Excess("unclaimed_ms", "burst_ms", _burst_slack_ms, second_least, claim_ms=_claim_in_burst_ms)
HOT = Excess("unclaimed_ms", "hot_ms", _burst_slack_ms, second_least, claim_ms=_claim_in_burst_ms)
ON_DEVICE: tuple[Excess, ...] = (
    SINGLE,
    BURST,
    HOT,
    WholeRequests("unclaimed_ms", "wall_ms", _talk_slack_ms),
)
"""All measurements of a GPU, by the judge's clock. Rows last until the judge has the output, so they contain what is deferred in blocks."""
ON_CPU: tuple[Excess, ...] = (
    Excess("background_ms", "background_ms", _request_slack_ms),
    Excess("deferred_ms", "reveal_ms", _reveal_slack_ms),
    Excess("arrives_late_ms", "arrival_ms", _arrival_slack_ms, _lower_quartile, _upper_quartile),
    WatchedCalls("arrives_late_ms", "reveal_ms", _reveal_slack_ms, calls="reveal_busy_ms"),
    WatchedCalls("arrives_late_ms", "background_ms", _reveal_slack_ms, calls="background_busy_ms"),
)
"""All measurements of a CPU: in CPU time, except for arrivals. Other processes delay arrivals and never hasten them: so their lower
quartile is compared with the usual upper quartile."""


def charges(sides: Sides, measured: Sequence[Excess]) -> dict[str, float]:
    """What these measurements charge, in ms, by the field of TimingEvidence."""
    charged: dict[str, float] = {}
    for excess in measured:
        charged[excess.charge] = max(charged.get(excess.charge, 0.0), excess.charged_ms(sides))
    return charged


def compare(sides: Sides, *, on_device: bool) -> TimingEvidence:
    """The evidence of a timing, with all charges."""
    return TimingEvidence(
        clock="cuda_event" if on_device else "judge_wall",
        calls=len(sides.candidate.samples_ms),
        candidate=sides.candidate,
        baseline=sides.baseline,
        alone=sides.alone,
        gated=sides.gated and on_device,
        in_a_row=sides.in_a_row,
    ).model_copy(update=charges(sides, ON_DEVICE if on_device else ON_CPU))

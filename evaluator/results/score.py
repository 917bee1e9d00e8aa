"""The score over several workloads: geometric means of times and speedups, and the speedup's interval.

Without workloads, the figures are those of the one timing.
"""

import math
from collections.abc import Iterable

from evaluator.results.evidence.timing import TimingEvidence, WorkloadEvidence

UNSOLVED_SPEEDUP = 0.1
"""The speedup of an unsolved workload, if the problem lets it count."""
BETWEEN_SHARE = {"cuda": 0.007, "cpu": 0.1}
BETWEEN_MS = {"cuda": 0.9e-3, "cpu": 3e-3}
"""How far evaluations of one submission, each in processes of its own, are apart: of 20, 19 speedups are within this share of their median,
and this time divided by the geometric mean of both sides' times (docs/benchmarks.md#timing)."""


def overall_ms(timing: TimingEvidence) -> tuple[float, float]:
    """The times of the submission and the baseline; the score is baseline / submission."""
    if not timing.workloads:
        return timing.runtime_ms, timing.baseline_ms
    baseline_ms = _mean(each.baseline_ms for each in _timings(timing))
    return baseline_ms / _mean(map(speedup_in, timing.workloads)), baseline_ms


def overall_interval(timing: TimingEvidence, score: float) -> tuple[float, float] | None:
    """95 % confidence interval of the score, within and between evaluations; None in older records.

    Within an evaluation, the workloads' errors are independent, so the squares of their logarithms add up. What processes differ in is
    common to all.
    """
    timed = _timings(timing) if timing.workloads else [timing]
    found = [within for each in timed if (within := _within(each)) is not None]
    if len(found) < len(timed) or not found:
        return None
    count = len(timing.workloads) or 1
    low, high = (math.hypot(*side) / count for side in zip(*found, strict=True))
    return _ends(score, (low, high), math.fsum(map(_between, timed)) / count)


def speedup_in(workload: WorkloadEvidence) -> float:
    """The speedup in one workload."""
    timing = workload.timing
    return timing.baseline_ms / timing.runtime_ms if timing is not None else UNSOLVED_SPEEDUP


def interval_in(workload: WorkloadEvidence) -> tuple[float, float] | None:
    """95 % confidence interval of the speedup; None if the workload is unsolved."""
    within = _within(workload.timing) if workload.timing is not None else None
    return _ends(speedup_in(workload), within, _between(workload.timing)) if workload.timing is not None and within is not None else None


def _within(timing: TimingEvidence) -> tuple[float, float] | None:
    """How far the ends are from the ratio within one evaluation, as logarithms; None if not known. Charged time does not increase it."""
    if timing.interval is None or timing.interval[0] <= 0:
        return None
    low, high = (math.log(end / timing.ratio) for end in timing.interval)
    return max(-low, 0.0), max(high, 0.0)


def _between(timing: TimingEvidence) -> float:
    """How far evaluations are apart, as a logarithm."""
    device_kind = "cpu" if timing.clock == "judge_wall" else "cuda"
    return math.hypot(BETWEEN_SHARE[device_kind], BETWEEN_MS[device_kind] / math.sqrt(timing.runtime_ms * timing.baseline_ms))


def _ends(speedup: float, within: tuple[float, float], between: float) -> tuple[float, float]:
    low, high = (math.hypot(side, between) for side in within)
    return speedup * math.exp(-low), speedup * math.exp(high)


def _timings(timing: TimingEvidence) -> list[TimingEvidence]:
    return [each.timing for each in timing.workloads if each.timing is not None]


def _mean(figures: Iterable[float]) -> float:
    logarithms = [math.log(figure) for figure in figures]
    return math.exp(math.fsum(logarithms) / len(logarithms))

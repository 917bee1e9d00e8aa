"""The score over several workloads: geometric means of times and speedups, and the speedup's interval.

Without workloads, the figures are those of the one timing.
"""

import math
from collections.abc import Iterable

from evaluator.results.evidence.timing import TimingEvidence, WorkloadEvidence
from evaluator.results.protocol_names import DEFAULTS

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
    """95 % confidence interval of the score, within and between evaluations; None in older records. The workloads' errors are independent,
    so the squares of their logarithms add up."""
    if not timing.workloads:
        return _interval(timing, score)
    found = [(speedup, _interval(each, speedup)) for each in _timings(timing) for speedup in (each.baseline_ms / each.runtime_ms,)]
    widths = [(math.log(speedup / held[0]), math.log(held[1] / speedup)) for speedup, held in found if held is not None]
    if len(widths) < len(found):
        return None
    low, high = (math.hypot(*side) / len(timing.workloads) for side in zip(*widths, strict=True))
    return score * math.exp(-low), score * math.exp(high)


def speedup_in(workload: WorkloadEvidence) -> float:
    """The speedup in one workload."""
    timing = workload.timing
    return timing.baseline_ms / timing.runtime_ms if timing is not None else UNSOLVED_SPEEDUP


def interval_in(workload: WorkloadEvidence) -> tuple[float, float] | None:
    """95 % confidence interval of the speedup; None if the workload is unsolved."""
    return _interval(workload.timing, speedup_in(workload)) if workload.timing is not None else None


def _interval(timing: TimingEvidence, speedup: float) -> tuple[float, float] | None:
    if timing.interval is None:
        return None
    low, high = (math.log(end / timing.ratio) for end in timing.interval)  # charged time does not increase the spread
    device_kind = "cpu" if timing.protocol == DEFAULTS["cpu"] else "cuda"
    apart = BETWEEN_MS[device_kind] / math.sqrt(timing.runtime_ms * timing.baseline_ms)
    between = math.hypot(BETWEEN_SHARE[device_kind], apart)
    return speedup * math.exp(-math.hypot(min(low, 0.0), between)), speedup * math.exp(math.hypot(max(high, 0.0), between))


def _timings(timing: TimingEvidence) -> list[TimingEvidence]:
    return [each.timing for each in timing.workloads if each.timing is not None]


def _mean(figures: Iterable[float]) -> float:
    logarithms = [math.log(figure) for figure in figures]
    return math.exp(math.fsum(logarithms) / len(logarithms))

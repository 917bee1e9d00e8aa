"""Times of the submission (`candidate`) and the baseline, and the judge's check of the worker's claims."""

import statistics
from typing import Any, Literal, TypeAlias

from pydantic import AliasChoices, Field

from evaluator.results.category import Category
from evaluator.results.evidence.device import FloorEvidence
from evaluator.results.evidence.record import Record
from evaluator.results.evidence.rounds import AblationEvidence

DISTURBED_SHARE = 0.1
"""If the baseline is slower by more than this share beside the submission than alone, its time alone counts."""

Statistic: TypeAlias = Literal["median", "lower_quartile"]
"""The statistic of its samples that is a side's time."""


class TimingSide(Record):
    """Times of the submission or the baseline. Each sample is one call."""

    median_ms: float
    lower_quartile_ms: float
    upper_quartile_ms: float
    samples_ms: tuple[float, ...]
    wall_ms: tuple[float, ...] = ()
    """Wall time per call by the judge's clock, with messages and L2 flush; one value per request."""
    busy_ms: tuple[float, ...] = ()
    """CPU time of the worker's process during each call, by the operating system; none on a GPU."""
    ahead_ms: tuple[float, ...] = ()
    """In older records on a CPU, CPU time of the worker's processes before each call, while its inputs were copied."""
    reveal_ms: tuple[float, ...] = ()
    """Duration of each unannounced copy of an output into the judge's memory; on the CPU, the CPU time since the reply."""
    reveal_busy_ms: tuple[float, ...] = ()
    """CPU time of the calls whose outputs were copied; none on a GPU, and in older records."""
    arrival_ms: tuple[float, ...] = ()
    """Wall time from each of these replies until its output is in the judge's memory; none on a GPU, and in older records."""
    single_ms: tuple[float, ...] = ()
    """Single calls by the judge's clock: from the copy of the inputs, with the flush, until the output is in memory that the worker can't
    access. For the baseline alone: the same without the call. None on the CPU."""
    landed_ms: tuple[float, ...] = ()
    """In older records, whose `single_ms` end before the last copy: `single_ms` with it."""
    burst_ms: tuple[float, ...] = ()
    """Time per call in each burst of back-to-back calls, by the same clock, with flush and copy of the output. For the baseline alone: the
    same without the calls. None on the CPU, and if memory or time was enough for one call only."""
    hot_ms: tuple[float, ...] = ()
    """`burst_ms` without flushes, so no work can hide in them. None in older records, and if the gate was not used."""
    background_ms: tuple[float, ...] = ()
    """CPU time of the worker's processes after a reply, each time the judge watched them; none on a GPU."""
    background_busy_ms: tuple[float, ...] = ()
    """CPU time of the watched calls; none in older records."""

    at_s: tuple[float, ...] = ()
    """Time of each sample's request, in seconds since the timing began; equal within one request. None in older records."""
    blank_ms: float = 0.0
    """Time of an empty call, subtracted from each sample; on a GPU, that of two events and their waiting. 0 in older records of a GPU."""
    launch_lead_ms: float = Field(default=0.0, validation_alias=AliasChoices("launch_lead_ms", "head_start_ms"))
    """Approximate time for which the device was kept busy before each call, so that no sample contains the host's time; 0 if it was not.
    Older records call it `head_start_ms`, or have none."""
    host_ms: float | None = None
    """The host's time to launch a call on a GPU, as the worker claims: the lowest decile, since the host may wait for the device. None in
    older records, and if calls are not launched one by one."""
    outliers: tuple[int, ...] = ()
    """Positions of samples far outside the quartiles (evaluator.judge.timing.statistics.speedup.outliers). They count like all others."""

    @property
    def claim_ms(self) -> float:
        """The time per call that the worker on a GPU claims, with its events."""
        return self.median_ms + self.blank_ms

    def figure_ms(self, statistic: Statistic) -> float:
        """The time per call."""
        return self.median_ms if statistic == "median" else self.lower_quartile_ms

    @property
    def work_ms(self) -> float:
        """The median time per call: CPU time if it was counted, since other load on the machine does not lengthen it."""
        return statistics.median(self.busy_ms) if self.busy_ms else self.median_ms


class WrongTimedAnswer(Record):
    """A wrong output of a timed call, after right outputs in the rounds."""

    call: int
    """Number of the timed call, from 1; 0 for a call before them."""
    message: str
    category: Category = Category.CACHED_OUTPUT
    """What a round would call it. Records of versions before 0.19 have `cached_output` for most."""
    back_to_back: bool = False
    """In older records, whether it was found in back-to-back calls, where the output is copied without waiting for the device."""
    in_blocks: tuple[bool, ...] = ()
    """For each further call with the same inputs in a timing block: whether it was wrong too. Empty if there are none."""
    alone: tuple[bool, ...] = ()
    """For each further call with these inputs that was not timed: whether it was wrong."""
    repeats: bool = False
    """Whether each output in a block was that of the call before, which had other inputs at the same addresses."""


class OtherTiming(Record):
    """The figures of another timing of the same submission, which doesn't count."""

    runtime_ms: float
    baseline_ms: float
    late_ms: float
    """Time that the judge's clock added to its claims."""


class TimingEvidence(Record):
    """Submission and baseline, timed alternately, and the baseline alone."""

    clock: str
    """cuda_event (device time, checked against the judge's clock) or judge_wall (the judge's monotonic clock)."""
    calls: int
    candidate: TimingSide
    baseline: TimingSide
    alone: TimingSide | None = None
    """The baseline after the submission was killed, for comparison. None in older records."""
    deferred_ms: float = 0.0
    """Extra time until the submission's outputs arrive, compared with the baseline's; 0 within the clock's spread. Causes: postponed work,
    or a layout that is slow to copy."""
    ahead_ms: float = 0.0
    """In older records, extra CPU time of the submission before a call, while its inputs arrived."""
    background_ms: float = 0.0
    """Extra CPU time of the submission, compared with the baseline, after its reply; 0 if only bookkeeping."""
    arrives_late_ms: float = 0.0
    """On the CPU, extra wall time until the submission's outputs arrive, compared with the baseline's; 0 within the spread. Processes that
    compute meanwhile may have ended before the judge looks. Or the extra CPU time of watched calls, with later work, compared with the
    median call. 0 in older records."""
    unexplained_ms: float | None = None
    """In older records, the time of a call by the judge's clock minus that by its events; None in newer ones, and on a CPU."""
    unclaimed_ms: float = 0.0
    """Time of a call that the submission's claims leave out, by the judge's clock over single or back-to-back calls; 0 within the
    spread."""
    gated: bool = True
    """Whether the judge's clock ran behind the gate. If not, as when forward() waits for the device, it contains the host's time."""
    in_a_row: int = 0
    """Calls per burst; 0 on the CPU."""
    unflushed: int = 0
    """Calls in which the submission's worker skipped the requested L2 flush."""
    unflushed_bursts: int = 0
    """Single calls and bursts of the judge's clock without their flush, which are therefore not samples."""

    statistic: Statistic = "median"
    """The statistic that is the submission's time (evaluator.judge.timing.statistics.statistic_choice). The median in older records."""
    baseline_statistic: Statistic | None = None
    """The statistic that is a baseline's time, if it is not the submission's."""
    protocol: str | None = None
    """The timing protocol (evaluator.judge.timing.protocols). None in older records: `cold` on a GPU, `cpu` elsewhere."""
    fallback: str = ""
    """Why another protocol than the requested one was used; empty if it was not."""
    cores: tuple[int, ...] = ()
    """CPU cores that both sides and the judge were pinned to. None on a GPU, and in older records."""
    strayed: bool = False
    """Whether a side left these cores, which a sandbox with a system call filter prevents."""
    slow_requests: bool = False
    """Whether, on a CPU, even the fastest empty request took too long to be subtracted (judge.timing.baseline_alone). Then other load
    lengthens all times, or calls are too short. False in older records."""
    waiting: float | None = None
    """On a CPU, the share of the baseline's time alone that its worker, or the judge, waited for a CPU core. None if unknown, and in older
    records."""
    calls_in_block: int = 1
    """Calls per request."""
    blocks: int = 0
    """Requests per side, interleaved in random order; 0 in older records."""
    warm_up_calls: int = 0
    """Calls per side before the first sample."""
    steady: bool | None = None
    """Whether the times were steady after the warm-up. None in older records."""
    stop: str = ""
    """The stopping criterion (evaluator.judge.timing.stopping): `precise` or `budget`; empty in older records."""
    interval: tuple[float, float] | None = None
    """95 % confidence interval of baseline time / submission time, by bootstrap over timing blocks, without charged time. None in older
    records."""
    others: dict[str, TimingSide] = Field(default_factory=dict)
    """Further baselines by kind, interleaved with the others."""
    failed_baselines: dict[str, str] = Field(default_factory=dict)
    """Why a requested baseline could not be timed, by kind."""
    contested: OtherTiming | None = None
    """If the judge's clock added to the claims on a GPU, it was timed again: the timing of the two that doesn't count. None if the
    second was disturbed."""

    workloads: tuple["WorkloadEvidence", ...] = ()
    """All workloads that count, this timing's first; empty if the problem is judged in one case."""

    @property
    def longest_wait(self) -> float | None:
        """The largest `waiting` of this timing and its workloads; None if unknown."""
        shares = [self.waiting, *(each.timing.waiting for each in self.workloads[1:] if each.timing)]
        return max((share for share in shares if share is not None), default=None)

    @property
    def ratio(self) -> float:
        """Baseline time / submission time, without charged time."""
        return self.baseline_ms / self.candidate.figure_ms(self.statistic)

    @property
    def runtime_ms(self) -> float:
        """The submission's time: that of its calls, by the statistic, plus the charged time.

        An output that is slow to copy is slow in bursts too, but is charged once.
        """
        return self.candidate.figure_ms(self.statistic) + self.ahead_ms + self.background_ms + self.late_ms

    @property
    def late_ms(self) -> float:
        """Time that the judge's clock adds to the claims; 0 if it confirms them."""
        return max(self.deferred_ms, self.arrives_late_ms, self.unclaimed_ms)

    @property
    def is_contested(self) -> bool:
        """Whether the judge's clock adds to the claims of a worker on a GPU. Other work on the device can cause this too."""
        return self.clock == "cuda_event" and self.gated and self.unclaimed_ms > 0

    @property
    def contested_workloads(self) -> frozenset[str]:
        """The workloads, besides this timing's own, whose timing is contested."""
        return frozenset(each.case for each in self.workloads[1:] if each.timing is not None and each.timing.is_contested)

    @property
    def has_slow_requests(self) -> bool:
        """Whether requests were too slow in this timing, or in one of its workloads."""
        return self.slow_requests or any(each.timing.slow_requests for each in self.workloads[1:] if each.timing)

    def or_lesser(self, first: "TimingEvidence | None") -> "TimingEvidence":
        """This timing, or the first one, if there is one and it adds no more to the claims, with the other's figures as `contested`."""
        if first is None:
            return self
        counts, other = (self, first) if self.late_ms < first.late_ms else (first, self)
        told = OtherTiming(runtime_ms=other.runtime_ms, baseline_ms=other.baseline_ms, late_ms=other.late_ms)
        return counts.model_copy(update={"contested": told})

    @property
    def baseline_ms(self) -> float:
        """The baseline's time per call."""
        return self.counted_baseline.figure_ms(self.of_baselines)

    @property
    def of_baselines(self) -> Statistic:
        """The statistic that is a baseline's time."""
        return self.baseline_statistic or self.statistic

    @property
    def counted_baseline(self) -> TimingSide:
        """The baseline's calls beside the submission, or those alone if they are clearly faster."""
        return self.alone if self.alone and self.disturbed else self.baseline

    @property
    def disturbed(self) -> bool:
        """Whether the baseline was slower beside the submission than alone (is_slower)."""
        return self.alone is not None and is_slower(self.baseline, self.alone, self.candidate, self.baseline_statistic)


class WorkloadEvidence(Record):
    """The observations in one of several workloads."""

    case: str
    constants: dict[str, Any] = Field(default_factory=dict)
    """The problem's numbers in this workload."""
    input_bytes: int | None = None
    """Size of a call's arguments; None if unknown."""
    right: bool
    message: str = ""
    """Why it is unsolved; empty if solved."""
    rounds: int = 0
    timing: TimingEvidence | None = None
    """None if unsolved. Of the samples, only `samples_ms` are kept."""
    floor: FloorEvidence | None = None
    ablation: AblationEvidence | None = None
    """None if no verdict depended on it."""

    def shortened(self) -> "WorkloadEvidence":
        """A copy with only the data that figures are computed from."""
        timing = self.timing
        if timing is None:
            return self
        sides = {name: _shortened(getattr(timing, name)) for name in ("candidate", "baseline", "alone") if getattr(timing, name)}
        return self.model_copy(update={"timing": timing.model_copy(update={**sides, "others": {}, "workloads": ()})})


def _shortened(side: TimingSide) -> TimingSide:
    kept = ("median_ms", "lower_quartile_ms", "upper_quartile_ms", "samples_ms", "blank_ms", "launch_lead_ms", "host_ms")
    return TimingSide(**{name: getattr(side, name) for name in kept})


def is_slower(beside: TimingSide, alone: TimingSide, candidate: TimingSide, statistic: Statistic | None) -> bool:
    """Whether a baseline was slower beside the submission than alone, by 10 % in the median.

    The quartile ranges must also be disjoint, or only a part of the calls was slower. Other load on the machine would lengthen a part of
    the submission's calls too. statistic: the baseline's, if it is not the submission's. Then lower quartiles alone are compared: other
    load lengthens calls, and never shortens them.
    """
    if statistic == "lower_quartile":
        return beside.lower_quartile_ms > (1 + DISTURBED_SHARE) * alone.lower_quartile_ms
    if beside.median_ms <= (1 + DISTURBED_SHARE) * alone.median_ms:
        return False
    is_apart = beside.lower_quartile_ms > alone.upper_quartile_ms
    is_uneven = beside.median_ms > alone.upper_quartile_ms and _rise(beside) > (1 + DISTURBED_SHARE) * _rise(candidate)
    return is_apart or is_uneven


def _rise(side: TimingSide) -> float:
    """The median as a multiple of the lower quartile."""
    return side.median_ms / side.lower_quartile_ms

"""The times of the candidate and the baseline, and what the judge's clock says of the worker's claims."""

import statistics
from typing import Literal, TypeAlias

from pydantic import Field

from evaluator.results.category import Category
from evaluator.results.evidence.record import Record

DISTURBED_SHARE = 0.1
"""Where the baseline was slower by more than this beside the candidate, its time without the candidate counts."""

Statistic: TypeAlias = Literal["median", "lower_quartile"]
"""What of its samples a side's time is; the same for both sides."""


class TimingSide(Record):
    """Times of the candidate or the baseline; every sample is one call."""

    median_ms: float
    lower_quartile_ms: float
    upper_quartile_ms: float
    samples_ms: tuple[float, ...]
    wall_ms: tuple[float, ...] = ()
    """Each call by the judge's own clock, messages and L2 flush included."""
    busy_ms: tuple[float, ...] = ()
    """CPU time of the worker's process during each call, as the operating system counts it; none on a GPU."""
    ahead_ms: tuple[float, ...] = ()
    """CPU time of the worker's processes before each call, while its inputs were copied into memory that they see; none on a GPU."""
    reveal_ms: tuple[float, ...] = ()
    """How long each unannounced copy of an answer into the judge's memory took; on the CPU, the CPU time since the answer."""
    reveal_busy_ms: tuple[float, ...] = ()
    """CPU time of the calls whose answers were copied; none on a GPU, and in older records."""
    arrival_ms: tuple[float, ...] = ()
    """Wall time from each of these answers to its arrival in the judge's memory; none on a GPU, and in older records."""
    single_ms: tuple[float, ...] = ()
    """Single calls by the judge's clock, from the release of the gate, with the flush and the copying of the answer. Of the baseline alone:
    the same without the call. None on the CPU."""
    landed_ms: tuple[float, ...] = ()
    """Of the same calls: the time until the answer was in memory that the worker does not see."""
    burst_ms: tuple[float, ...] = ()
    """Time of one call in each burst of back-to-back calls, by the same clock, with its flush and the copying of its answer. Of the
    baseline alone: the same without the calls. None on the CPU, and where memory was enough for one call only."""
    hot_ms: tuple[float, ...] = ()
    """The same without the flushes, so that no work can hide in their time. None in older records, and where the gate was not used."""
    background_ms: tuple[float, ...] = ()
    """CPU time of the worker's processes after an answer, each time that the judge watched them; none on a GPU."""
    background_busy_ms: tuple[float, ...] = ()
    """CPU time of the calls before these; none in older records."""

    at_s: tuple[float, ...] = ()
    """When each sample was requested, in seconds since the timing began; equal within one request. None in older records."""
    blank_ms: float = 0.0
    """The time of an empty call, subtracted from each sample; on a GPU, that of two events and what they wait for. 0 in older records of a
    GPU."""
    head_start_ms: float = 0.0
    """About how long the device was kept busy before each call, so that no sample contains the host's time; 0 where it was not, and in
    older records."""
    host_ms: float | None = None
    """The host's time to launch a call on a GPU, as the worker says: the lowest decile, since the host may have to wait for the device.
    None in older records, and where calls are not launched one by one."""
    outliers: tuple[int, ...] = ()
    """Positions of samples far beyond the quartiles (evaluator.judge.timing.speedup.outliers). They count like all others."""

    @property
    def claim_ms(self) -> float:
        """The time of a call that the worker on a GPU claims, its events included."""
        return self.median_ms + self.blank_ms

    def figure_ms(self, statistic: Statistic) -> float:
        """The time of a call."""
        return self.median_ms if statistic == "median" else self.lower_quartile_ms

    @property
    def work_ms(self) -> float:
        """The median time of a call: CPU time where it was counted, since other load on the machine does not lengthen it."""
        return statistics.median(self.busy_ms) if self.busy_ms else self.median_ms


class WrongTimedAnswer(Record):
    """An answer that was right in the rounds and wrong when it was timed."""

    call: int
    """Which of the timed calls, from 1; 0 for a call before them."""
    message: str
    category: Category = Category.CACHED_OUTPUT
    back_to_back: bool = False
    """Whether it was found in back-to-back calls, where nothing waits for the device before the answer is copied."""


class OtherTiming(Record):
    """The figures of another timing of the same submission, which does not count."""

    runtime_ms: float
    baseline_ms: float
    late_ms: float
    """What the judge's clock added to its claims."""


class TimingEvidence(Record):
    """Candidate and baseline, timed in alternation, and the baseline alone."""

    clock: str
    """cuda_event (device time, checked against the judge's clock) or judge_wall (the judge's monotonic clock)."""
    calls: int
    candidate: TimingSide
    baseline: TimingSide
    alone: TimingSide | None = None
    """The baseline after the candidate was killed, for comparison with its figures. None in older records."""
    deferred_ms: float = 0.0
    """How much longer the candidate's answers take to arrive than the baseline's, where this exceeds the clock's spread: because work was
    put off, or because the layout is slow to copy."""
    ahead_ms: float = 0.0
    """CPU time that the candidate takes beyond the baseline before a call, while its inputs arrive, where this is more than bookkeeping."""
    background_ms: float = 0.0
    """CPU time that the candidate takes beyond the baseline after its answer, where this is more than bookkeeping."""
    arrives_late_ms: float = 0.0
    """On the CPU, how much later the candidate's answers arrive by the clock than the baseline's, where this exceeds the spread:
    processes that compute meanwhile may have ended before the judge looks. Or how much more CPU time the watched calls take, with what
    follows each, than other calls. It is charged and never disqualifies. 0 in older records."""
    unexplained_ms: float | None = None
    """How much longer a call takes by the judge's clock than its events say; close to 0, or less, for an honest candidate. None on the CPU,
    where the judge's clock is the only one."""
    unclaimed_ms: float = 0.0
    """What the candidate's claims leave out of a call, by the judge's clock over single or back-to-back calls, where this exceeds the
    spread."""
    gated: bool = True
    """Whether the judge's clock ran behind the gate. Otherwise, as where forward() waits for the device, it contains the host's time."""
    in_a_row: int = 0
    """Calls in a burst; 0 on the CPU."""
    unflushed: int = 0
    """Calls in which the candidate's worker did not empty the L2 cache as it was told to."""
    unflushed_bursts: int = 0
    """Single calls and bursts of the judge's clock without their flush, which therefore are no samples."""

    statistic: Statistic = "median"
    """Which of the samples counts as a side's time (evaluator.judge.timing.statistic). The median in older records."""
    protocol: str | None = None
    """The timing protocol (evaluator.judge.timing.protocols). None in older records: `cold` on a GPU, `cpu` elsewhere."""
    fallback: str = ""
    """Why another protocol than the requested one was used; empty where it was used."""
    cores: tuple[int, ...] = ()
    """CPU cores that both sides and the judge were pinned to. None on a GPU, and in older records."""
    strayed: bool = False
    """Whether a side left these cores, which a sandbox with a system call filter prevents."""
    calls_in_block: int = 1
    """Calls in one request."""
    blocks: int = 0
    """Requests to each side, interleaved in random order; 0 in older records."""
    warm_up_calls: int = 0
    """Calls of each side before the first sample."""
    steady: bool | None = None
    """Whether the times were steady after the warm-up. None in older records."""
    stop: str = ""
    """The stopping criterion (evaluator.judge.timing.stopping): `precise` or `budget`; empty in older records."""
    interval: tuple[float, float] | None = None
    """95 % confidence interval of the baseline's over the candidate's time, by bootstrap over blocks, without what is charged.
    None in older records."""
    others: dict[str, TimingSide] = Field(default_factory=dict)
    """Further baselines, timed in the same turns, by their kind."""
    failed_baselines: dict[str, str] = Field(default_factory=dict)
    """Why a requested baseline could not be timed, by its kind."""
    contested: OtherTiming | None = None
    """Where the judge's clock added to the claims on a GPU, and all was timed again: the one of both timings that does not count."""

    @property
    def ratio(self) -> float:
        """The baseline's time over the candidate's, without what is charged."""
        return self.baseline_ms / self.candidate.figure_ms(self.statistic)

    @property
    def runtime_ms(self) -> float:
        """The candidate's time: that of its calls, by the statistic, plus the time that it left out of them.

        An answer that is slow to copy shows in bursts too, but is charged once.
        """
        return self.candidate.figure_ms(self.statistic) + self.ahead_ms + self.background_ms + self.late_ms

    @property
    def late_ms(self) -> float:
        """What the judge's clock adds to the claims; 0 where it confirms them."""
        return max(self.deferred_ms, self.arrives_late_ms, self.unclaimed_ms)

    @property
    def is_contested(self) -> bool:
        """Whether the judge's clock, which other work on the device also lengthens, adds to what a worker on a GPU claims."""
        return self.clock == "cuda_event" and self.gated and max(self.unclaimed_ms, self.deferred_ms) > 0

    def rather_than(self, other: "TimingEvidence") -> "TimingEvidence":
        """This timing, with the figures of the other one, which does not count."""
        told = OtherTiming(runtime_ms=other.runtime_ms, baseline_ms=other.baseline_ms, late_ms=other.late_ms)
        return self.model_copy(update={"contested": told})

    @property
    def baseline_ms(self) -> float:
        """The time of the baseline's calls."""
        return self.counted_baseline.figure_ms(self.statistic)

    @property
    def counted_baseline(self) -> TimingSide:
        """The baseline's calls, or those without the candidate where they are clearly faster."""
        return self.alone if self.alone and self.disturbed else self.baseline

    @property
    def disturbed(self) -> bool:
        """Whether the baseline was slower beside the candidate than alone (is_slower)."""
        return self.alone is not None and is_slower(self.baseline, self.alone)


def is_slower(beside: TimingSide, alone: TimingSide) -> bool:
    """Whether a baseline was slower beside the candidate than alone: by a tenth in the median, and beyond both spreads."""
    slower = beside.median_ms > (1 + DISTURBED_SHARE) * alone.median_ms
    return slower and beside.lower_quartile_ms > alone.upper_quartile_ms

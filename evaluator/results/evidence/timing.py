"""How long calls took."""

import statistics

from pydantic import Field

from evaluator.results.category import Category
from evaluator.results.evidence.record import Record

DISTURBED_SHARE = 0.1
"""A baseline that was slower by more than this while the candidate lived counts as it is without."""


class TimingSide(Record):
    """Times of the candidate or the baseline; every sample is one call."""

    median_ms: float
    lower_quartile_ms: float
    upper_quartile_ms: float
    samples_ms: tuple[float, ...]
    wall_ms: tuple[float, ...] = ()
    """The judge's own clock over each call's request: the talk and the L2 flush are in it."""
    busy_ms: tuple[float, ...] = ()
    """Processor time of the worker's process over each call's request, as the kernel counts it; none on a GPU."""
    ahead_ms: tuple[float, ...] = ()
    """Processor time of the worker's processes while inputs were copied into memory that they see, each time, before the call was asked
    for; none on a GPU."""
    reveal_ms: tuple[float, ...] = ()
    """How long it took to copy an answer into the judge's memory, each time that this was asked for unannounced; on the CPU, the
    processor time since the answer."""
    reveal_busy_ms: tuple[float, ...] = ()
    """Processor time of the calls whose answers these were; none on a GPU, and in older records."""
    arrival_ms: tuple[float, ...] = ()
    """How long after each of these answers it was in the judge's memory, by the clock; none on a GPU, and in older records."""
    single_ms: tuple[float, ...] = ()
    """Time of a call by the judge's clock, which starts when all is enqueued and its inputs come, with its flush and the copying of its
    answer; of the baseline alone, the same without the call. None on the CPU."""
    landed_ms: tuple[float, ...] = ()
    """Of the same requests: the time until the answer was in memory that the worker does not see."""
    burst_ms: tuple[float, ...] = ()
    """Time of a call among others, back to back, by that clock, with its flush and with the copying of its answer, for each burst; of the
    baseline alone, the same without the calls. None on the CPU, and where there was memory for one call only."""
    hot_ms: tuple[float, ...] = ()
    """The same without the flushes, in whose time nothing can hide. None in older records, and where no calls were behind the gate."""
    background_ms: tuple[float, ...] = ()
    """Processor time that the worker's processes took after an answer, each time that they were watched; none on a GPU."""
    background_busy_ms: tuple[float, ...] = ()
    """Processor time of the calls after which that was; none in older records."""

    at_s: tuple[float, ...] = ()
    """When each sample was asked for, in seconds since the timing began; those of one request at once. None in older records."""
    blank_ms: float = 0.0
    """What was taken off each sample: the time of a call that does nothing; on a GPU, of two events and what they wait for. 0 in older
    records of a GPU's times."""
    head_start_ms: float = 0.0
    """How long the device was kept busy before each call, about, so that the host's time is in no sample; 0 where it was not, and in older
    records."""
    host_ms: float | None = None
    """What launching a call on a GPU takes the host, as the worker says: the lowest decile, since it may have to wait for the device. None
    in older records, and where calls are not launched one by one."""
    outliers: tuple[int, ...] = ()
    """Positions of samples far beyond the quartiles (evaluator.judge.timing.confidence.outliers). They count as all others do."""

    @property
    def claim_ms(self) -> float:
        """What the worker on a GPU claims of a call, its events included."""
        return self.median_ms + self.blank_ms

    @property
    def work_ms(self) -> float:
        """What a call usually takes: processor time where that was counted, which other load on the machine does not lengthen."""
        return statistics.median(self.busy_ms) if self.busy_ms else self.median_ms


class WrongTimedAnswer(Record):
    """An answer that was right in the rounds and wrong when it was timed."""

    call: int
    """Which of the timed calls, from 1; 0 for a call before them."""
    message: str
    category: Category = Category.CACHED_OUTPUT
    back_to_back: bool = False
    """Whether it was found where the device is not waited for between a call and the copying of its answer."""


class OtherTiming(Record):
    """What another timing of the same submission came to, which does not count."""

    runtime_ms: float
    baseline_ms: float
    late_ms: float
    """What the judge's clock held against its claims."""


class TimingEvidence(Record):
    """Candidate and baseline, timed in alternation, and the baseline alone."""

    clock: str
    """cuda_event (device time, checked against the judge's clock) or judge_wall (the judge's monotonic clock)."""
    calls: int
    candidate: TimingSide
    baseline: TimingSide
    alone: TimingSide | None = None
    """The baseline after the candidate had been killed: what the candidate's figures are held against. None in older records."""
    deferred_ms: float = 0.0
    """How much longer the candidate's answers take to arrive than the baseline's, where that is more than the clock's spread: put off, or
    laid out so that copying is slow."""
    ahead_ms: float = 0.0
    """Processor time that the candidate takes before a call is asked for, while its inputs arrive, beyond the baseline's, where that is
    more than bookkeeping."""
    background_ms: float = 0.0
    """Processor time that the candidate takes after it has answered, beyond the baseline's, where that is more than bookkeeping."""
    arrives_late_ms: float = 0.0
    """On the CPU, how much later the candidate's answers arrive by the clock than the baseline's, where that is more than its spread: what
    computes meanwhile may have ended before it is looked for. Or how much more processor time the calls take that were looked at, with what
    came after each, than calls do. It accuses nobody. 0 in older records."""
    unexplained_ms: float | None = None
    """How much longer a call of the candidate takes by the judge's clock than its events say: close to nothing for an honest one, or
    less. None on the CPU, where the judge's clock is the only one."""
    unclaimed_ms: float = 0.0
    """What the candidate's claims leave out of a call, by the judge's clock over single calls or over calls back to back, where it is more
    than the spread."""
    gated: bool = True
    """Whether the judge's clock ran behind its gate; otherwise, as for a forward() that waits for the device, the host's time is in it."""
    in_a_row: int = 0
    """Of how many calls a burst is; 0 on the CPU."""
    unflushed: int = 0
    """Calls in which the candidate's worker did not empty the L2 cache as it was told to."""
    unflushed_bursts: int = 0
    """The same of single calls and bursts for the judge's clock, which then are no samples."""

    protocol: str | None = None
    """The timing protocol (evaluator.judge.timing.protocols). None in older records: `cold` on a GPU, `cpu` elsewhere."""
    protocol_text: str = ""
    """What a time by it measures, in a few words. Empty in older records."""
    fallback: str = ""
    """Why it is not the protocol that was asked for, where it is not."""
    cores: tuple[int, ...] = ()
    """Of the processor, those that both sides and the judge were kept to. None on a GPU, and in older records."""
    strayed: bool = False
    """Whether a side was found to have left them, which a sandbox with a system call filter does not let it."""
    calls_in_block: int = 1
    """Calls that were asked for in one request."""
    blocks: int = 0
    """Requests to each side, in turns of an order drawn anew; 0 in older records."""
    warm_up_calls: int = 0
    """Calls of each side before those that count."""
    steady: bool | None = None
    """Whether times had stopped changing by then. None in older records."""
    stop: str = ""
    """Why there were no more calls (evaluator.judge.timing.stopping): `precise` or `budget`; empty in older records."""
    interval: tuple[float, float] | None = None
    """What holds the ratio of the baseline's to the candidate's time with 95 % confidence, by bootstrap over blocks: of the medians,
    without what is charged. None in older records."""
    others: dict[str, TimingSide] = Field(default_factory=dict)
    """Further baselines, timed in the same turns, by their kind."""
    failed_baselines: dict[str, str] = Field(default_factory=dict)
    """Why a further baseline that was asked for could not be timed."""
    contested: OtherTiming | None = None
    """Where the judge's clock added to the claims on a GPU, and all was timed once more: the one of the two that does not count."""

    @property
    def ratio(self) -> float:
        """The baseline's time over the candidate's median, without what is charged."""
        return self.baseline_ms / self.candidate.median_ms

    @property
    def runtime_ms(self) -> float:
        """The candidate's time: the median of its calls, and what it left out of them.

        An answer that is slow to copy shows in bursts too, and is charged once.
        """
        return self.candidate.median_ms + self.ahead_ms + self.background_ms + self.late_ms

    @property
    def late_ms(self) -> float:
        """What is held against the claims by the judge's clock; 0 where it bears them out."""
        return max(self.deferred_ms, self.arrives_late_ms, self.unclaimed_ms)

    @property
    def is_contested(self) -> bool:
        """Whether the judge's clock, in which much else of the device's is too, adds to what a worker on a GPU claims: behind the gate, or
        until answers arrive."""
        return self.clock == "cuda_event" and self.gated and max(self.unclaimed_ms, self.deferred_ms) > 0

    def rather_than(self, other: "TimingEvidence") -> "TimingEvidence":
        """This timing, and what the other one came to, which does not count."""
        told = OtherTiming(runtime_ms=other.runtime_ms, baseline_ms=other.baseline_ms, late_ms=other.late_ms)
        return self.model_copy(update={"contested": told})

    @property
    def baseline_ms(self) -> float:
        """The baseline's time: the median of its calls, or of those without the candidate where these are clearly faster."""
        return self.alone.median_ms if self.alone and self.disturbed else self.baseline.median_ms

    @property
    def disturbed(self) -> bool:
        """Whether the baseline was slower while the candidate lived: by a tenth in the median, and beyond both spreads."""
        return self.alone is not None and is_slower(self.baseline, self.alone)


def is_slower(beside: TimingSide, alone: TimingSide) -> bool:
    """Whether a baseline was slower beside the candidate than alone: by a tenth in the median, and beyond both spreads."""
    slower = beside.median_ms > (1 + DISTURBED_SHARE) * alone.median_ms
    return slower and beside.lower_quartile_ms > alone.upper_quartile_ms

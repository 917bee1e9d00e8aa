"""The samples of one worker, and the other times that the judge compares them with."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from evaluator.judge import limits
from evaluator.judge.timing.statistics.speedup import outliers
from evaluator.results.evidence import TimingSide

_CALLS = ("wall_ms", "at_s", "busy_ms")
_REVEALS = ("reveal_ms", "reveal_busy_ms", "arrival_ms")
_GATED = ("single_ms", "burst_ms", "hot_ms")
_WATCHES = ("background_ms", "background_busy_ms")
_STORED = (*_CALLS, *_REVEALS, *_GATED, *_WATCHES)
"""Lists that are stored unchanged, grouped by the calls that they belong to."""


@dataclass
class Samples:
    """Times of one timed worker. `evaluator.results.evidence.TimingSide` describes each list."""

    on_device: bool
    """Whether calls run on a GPU. There a sample is an event time, otherwise a wall time."""
    since: float = field(default_factory=time.monotonic)
    """The moment from which `at_s` counts."""
    event_ms: list[float] = field(default_factory=list)
    """Time of each call by the worker's events: precise, but a claim."""
    wall_ms: list[float] = field(default_factory=list)
    at_s: list[float] = field(default_factory=list)
    busy_ms: list[float] = field(default_factory=list)
    host_ms: list[float] = field(default_factory=list)
    """Host time to launch each call of a block: also a claim."""
    reveal_ms: list[float] = field(default_factory=list)
    reveal_busy_ms: list[float] = field(default_factory=list)
    arrival_ms: list[float] = field(default_factory=list)
    single_ms: list[float] = field(default_factory=list)
    burst_ms: list[float] = field(default_factory=list)
    hot_ms: list[float] = field(default_factory=list)
    background_ms: list[float] = field(default_factory=list)
    background_busy_ms: list[float] = field(default_factory=list)
    unflushed: int = 0
    """Timed calls without their flush."""
    unflushed_bursts: int = 0
    """Single calls and bursts behind the gate without their flush. They are no samples."""

    def now_s(self) -> float:
        """The current time, as `at_s` counts."""
        return time.monotonic() - self.since

    def forget_calls(self) -> None:
        """Drop all samples of calls: they were a warm-up."""
        self._clear(*_CALLS, "event_ms", "host_ms")

    def forget_reveals(self) -> None:
        """Drop the times of reveals: they were a warm-up."""
        self._clear(*_REVEALS)

    def add_checks(self, other: "Samples") -> None:
        """Add the times of another's reveals, and of the watches after its calls."""
        for name in (*_REVEALS, *_WATCHES):
            getattr(self, name).extend(getattr(other, name))

    def share_reveals(self, count: int) -> None:
        """Give each of the last `count` reveals, all of one block, their mean time: the first one may do the deferred work of all calls."""
        for name in _REVEALS:
            times_ms: list[float] = getattr(self, name)
            if count and len(times_ms) >= count:
                times_ms[-count:] = [statistics.fmean(times_ms[-count:])] * count

    def forget_gated(self) -> None:
        """Drop the times of calls behind the gate."""
        self._clear(*_GATED)

    def _clear(self, *names: str) -> None:
        for name in names:
            getattr(self, name).clear()

    def call_ms(self, blank_ms: float) -> list[float]:
        """Time of each call minus `blank_ms`, the time of an empty call."""
        times_ms = self.event_ms if self.on_device else self.wall_ms
        return [max(took_ms - blank_ms, limits.LEAST_MS) for took_ms in times_ms]

    def waits_ms(self) -> list[float]:
        """Time per call of each block in which the process did not compute. On one core only; none on a GPU."""
        return [took_ms - busy_ms for took_ms, busy_ms in zip(self.wall_ms, self.busy_ms, strict=True)] if self.busy_ms else []

    def summary(self, blank_ms: float, launch_lead_ms: float) -> TimingSide:
        """All times for the record, with the quartiles of the calls."""
        samples_ms = self.call_ms(blank_ms)
        lower, median, upper = quartiles(samples_ms)
        return TimingSide(
            median_ms=median,
            lower_quartile_ms=lower,
            upper_quartile_ms=upper,
            samples_ms=tuple(samples_ms),
            **{name: tuple(getattr(self, name)) for name in _STORED},
            blank_ms=blank_ms,
            launch_lead_ms=launch_lead_ms,
            host_ms=sorted(self.host_ms)[len(self.host_ms) // 10] if self.host_ms else None,
            outliers=outliers(samples_ms),
        )


def quartiles(samples: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile of at least one sample. All lie within the samples: otherwise, with two samples, one long
    call could lower the lower quartile."""
    lower, median, upper = statistics.quantiles(samples, n=4) if len(samples) > 1 else list(samples) * 3
    return max(lower, min(samples)), median, min(upper, max(samples))

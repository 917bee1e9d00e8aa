"""How a call's device time is divided among kernels."""

from collections.abc import Sequence

from evaluator.diagnosis.words import plain_name
from evaluator.results.evidence import Evidence, LaunchRecord
from evaluator.results.figures import percent
from evaluator.worker.origin import is_vendors

MAX_NAMED = 5
SEEN_SHARE = 0.95
"""Where launches account for this share of a call, the rest is overhead of the clock."""


def own_share(evidence: Evidence) -> float | None:
    """The share of a call's device time in its own kernels, without those of a library of headers; None where it was not measured, as for
    kernels that a graph replays."""
    own = [launch for launch in evidence.launches if launch.own and not is_vendors(launch.kernel)]
    shares = [share for launch in own if (share := evidence.device_share(launch)) is not None]
    return None if evidence.kernel_times is None or (own and not shares) else sum(shares)


def timed(evidence: Evidence, launch: LaunchRecord) -> str:
    """The device time of its launches, as in `0.12 ms a launch, 62 % of a call's time`; empty where it was not measured."""
    share, each_ms = evidence.device_share(launch), launch.each_ms
    return "" if share is None or each_ms is None else f"{each_ms:.4g} ms a launch, {percent(share)} of a call's time"


def by_time(evidence: Evidence) -> list[LaunchRecord]:
    """The launches whose time was measured, the longest first."""
    return sorted((launch for launch in evidence.launches if launch.timed), key=lambda launch: -launch.device_ms)


def launches_a_call(evidence: Evidence) -> float | None:
    """Launches a call, by the calls in which they were timed; None where none was timed."""
    times = evidence.kernel_times
    return sum(launch.timed for launch in evidence.launches) / times.calls if times and times.calls else None


def breakdown(evidence: Evidence) -> list[str]:
    """Time by kernel, the longest first, and the time outside of all launches."""
    found = by_time(evidence)
    if evidence.kernel_times is None or not found:
        return []
    told = [_told(evidence, launch) for launch in found[:MAX_NAMED]]
    if len(found) > MAX_NAMED:
        told.append(f"{len(found) - MAX_NAMED} others {percent(_sum(evidence, found[MAX_NAMED:]))}")
    lines = [f"time by kernel: {'; '.join(told)}"]
    seen = _sum(evidence, found)
    if seen < SEEN_SHARE:
        rest = "gaps between kernels, copies, graphs, and libraries that launch past PyTorch's runtime, as cuBLAS does"
        lines.append(f"{percent(1 - seen)} of a call's time is in none of these launches: {rest}")
    return lines


def _sum(evidence: Evidence, launches: Sequence[LaunchRecord]) -> float:
    return sum(evidence.device_share(launch) or 0.0 for launch in launches)


def _told(evidence: Evidence, launch: LaunchRecord) -> str:
    whose = "" if launch.own else " of a library"
    calls = evidence.kernel_times.calls if evidence.kernel_times else 1
    count = launch.timed / max(calls, 1)
    times = f", {count:.4g} launches" if count > 1 else ""
    return f"`{plain_name(launch.kernel)}`{whose} {percent(evidence.device_share(launch) or 0.0)} ({launch.each_ms or 0.0:.4g} ms{times})"

"""Words on a call's device time by kernel."""

from collections.abc import Sequence

from evaluator.diagnosis.words import plain_name
from evaluator.results.display.figures import percent
from evaluator.results.evidence import Evidence, LaunchRecord
from evaluator.worker.origin import is_vendors

MAX_NAMED = 5
SEEN_SHARE = 0.95
"""If launches take this share of a call, the rest is overhead of the clock."""


def own_share(evidence: Evidence) -> float | None:
    """The share of a call's device time in the submission's own kernels, without kernels of header-only libraries. None if it was not
    measured: for example, for kernels that a graph replays."""
    own = [launch for launch in evidence.launches if launch.own and not is_vendors(launch.kernel)]
    shares = [share for launch in own if (share := evidence.device_share(launch)) is not None]
    return None if evidence.kernel_times is None or (own and not shares) else sum(shares)


def timed(evidence: Evidence, launch: LaunchRecord) -> str:
    """The device time of these launches, as in `0.12 ms per launch, 62 % of a call's time`; empty if it was not measured."""
    share, each_ms = evidence.device_share(launch), launch.each_ms
    return "" if share is None or each_ms is None else f"{each_ms:.4g} ms per launch, {percent(share)} of a call's time"


def by_time(evidence: Evidence) -> list[LaunchRecord]:
    """The launches whose time was measured, the longest first."""
    return sorted((launch for launch in evidence.launches if launch.timed), key=lambda launch: -launch.device_ms)


def launches_a_call(evidence: Evidence) -> float | None:
    """Launches per call, from the calls in which launches were timed; None if there are none."""
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
        rest = "gaps between kernels, copies, graphs, and libraries that bypass PyTorch's CUDA runtime, such as cuBLAS"
        lines.append(f"{percent(1 - seen)} of a call's time is outside these launches: {rest}")
    return lines


def _sum(evidence: Evidence, launches: Sequence[LaunchRecord]) -> float:
    return sum(evidence.device_share(launch) or 0.0 for launch in launches)


def _told(evidence: Evidence, launch: LaunchRecord) -> str:
    whose = "" if launch.own else " (library)"
    calls = evidence.kernel_times.calls if evidence.kernel_times else 1
    count = launch.timed / max(calls, 1)
    times = f", {count:.4g} launches" if count > 1 else ""
    return f"`{plain_name(launch.kernel)}`{whose} {percent(evidence.device_share(launch) or 0.0)} ({launch.each_ms or 0.0:.4g} ms{times})"

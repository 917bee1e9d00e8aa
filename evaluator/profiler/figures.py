"""Converts a row of ncu's numbers to the figures of one kernel."""

import re
from collections.abc import Collection, Mapping
from typing import cast

from evaluator.diagnosis.words import plain_name
from evaluator.profiler import tool
from evaluator.profiler.report import Row
from evaluator.results.evidence import KernelProfile, Stall
from evaluator.results.evidence.profile import Limit

MAX_STALLS = 3
ISSUED_A_CYCLE = 4
"""Maximum instructions that a multiprocessor issues per cycle: one for each of its four parts, since Volta."""
WHOLE = 0.995
"""From this occupancy on, no limit is reported."""
_REASON = re.compile(r"[a-z][a-z0-9_]{0,39}")
_NO_STALL = "selected"
"""The warp issued an instruction."""


def figures(row: Row, own: Collection[str] = ()) -> KernelProfile:
    """The figures of a launch; `own` are the bare names of the submission's own kernels."""
    values = row.values
    limit = _share(values, tool.OCCUPANCY_LIMIT)
    shared = [values[name] for name in tool.SHARED if name in values]
    return KernelProfile(
        kernel=row.kernel,
        own=plain_name(row.kernel) in own,
        grid=row.grid,
        block=row.block,
        duration_ms=values.get(tool.DURATION),
        memory_share=_share(values, tool.MEMORY),
        arithmetic_share=_share(values, tool.ARITHMETIC),
        occupancy=_share(values, tool.OCCUPANCY),
        occupancy_limit=limit,
        limited_by=_limited_by(values) if limit is not None and limit < WHOLE else (),
        registers=_count(values, tool.REGISTERS),
        shared_bytes=round(sum(shared)) if shared else None,
        l2_hit_share=_share(values, tool.L2_HITS),
        read_bytes=_count(values, tool.READ),
        written_bytes=_count(values, tool.WRITTEN),
        instructions=_count(values, tool.INSTRUCTIONS),
        issue_share=min(values[tool.PER_CYCLE] / ISSUED_A_CYCLE, 1.0) if tool.PER_CYCLE in values else None,
        stalls=_stalls(values),
    )


def _share(values: Mapping[str, float], name: str) -> float | None:
    """At most 1: counters of different passes may exceed it slightly."""
    return min(values[name], 1.0) if name in values else None


def _count(values: Mapping[str, float], name: str) -> int | None:
    return round(values[name]) if name in values else None


def _limited_by(values: Mapping[str, float]) -> tuple[Limit, ...]:
    """All limits that allow the fewest blocks on a multiprocessor."""
    blocks = {called: values[name] for name, called in tool.LIMITS.items() if name in values}
    return tuple(cast("Limit", called) for called, count in blocks.items() if count == min(blocks.values()))


def _stalls(values: Mapping[str, float]) -> tuple[Stall, ...]:
    """The reasons with the most samples."""
    samples = {name.removeprefix(tool.STALL): count for name, count in values.items() if name.startswith(tool.STALL)}
    waiting = {
        reason: count
        for reason, count in samples.items()
        if reason != _NO_STALL and not reason.endswith("_not_issued") and _REASON.fullmatch(reason)
    }
    whole = sum(waiting.values())
    main = sorted(waiting.items(), key=lambda item: -item[1])[:MAX_STALLS]
    return tuple(Stall(reason=reason, share=count / whole) for reason, count in main if count)

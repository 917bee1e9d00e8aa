"""The report of benchmarks.real_work: verdicts, device time of each right submission, and utilization of the devices."""

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.device_watch import Sample
from benchmarks.pipeline_run import PipelineRun
from evaluator.results.category import Category, Status
from evaluator.results.result import Result

SLOW_SPEEDUP = 1 / 20
"""Submissions with at most this speedup are marked slow."""
UNJUDGED = (Category.INTERRUPTED,)

Plain = dict[str, Any]
Expected = Mapping[str, Sequence[str]]
"""The fair verdicts, `status/category`, by file name."""


def report(run: PipelineRun, expected: Expected, utilization: Sequence[Sample], held: Sequence[Sample]) -> Plain:
    """Plain data for JSON. Interrupted evaluations do not count as judged."""
    judged = [result for result in run.results if result.category not in UNJUDGED]
    evaluations = [described(result, expected) for result in judged]
    return {
        "submissions": len(expected),
        "judged": len(judged),
        "complete": run.complete,
        "wall_s": run.wall_s,
        "each_s": run.wall_s / len(judged) if judged else None,
        "statuses": dict(Counter(result.status.value for result in judged).most_common()),
        "as_expected": sum(evaluation["as_expected"] for evaluation in evaluations),
        "held": figures([each["held_s"] for each in evaluations if _is_right(each) and not each["slow"]]),
        "phase": phase(judged, utilization, held),
        "evaluations": evaluations,
    }


def described(result: Result, expected: Expected) -> Plain:
    """One evaluation."""
    file = Path(result.submission).name
    verdict = f"{result.status}/{result.category}"
    return {
        "file": file,
        "verdict": verdict,
        "expected": list(expected.get(file, ())),
        "as_expected": verdict in expected.get(file, ()),
        "duration_s": result.duration_s,
        "held_s": sum(result.evidence.held_s.values()),
        "speedup": result.speedup,
        "slow": result.speedup is not None and result.speedup <= SLOW_SPEEDUP,
        "calls": result.evidence.timing.calls if result.evidence.timing else None,
    }


def figures(values_s: Sequence[float]) -> Plain | None:
    """Count, mean, median and 95th percentile in seconds; None without values."""
    if not values_s:
        return None
    return {
        "count": len(values_s),
        "mean_s": statistics.fmean(values_s),
        "median_s": statistics.median(values_s),
        "p95_s": percentile(values_s, 0.95),
    }


def percentile(values: Sequence[float], share: float) -> float:
    """Interpolated linearly between sorted values, as in numpy."""
    ordered, place = sorted(values), share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def phase(judged: Sequence[Result], utilization: Sequence[Sample], held: Sequence[Sample]) -> Plain | None:
    """The judging phase, from the first hold of a device to the last release, and its samples' figures; None without one.

    If no hold was seen, it is from the first evaluation's start to the last one's end.
    """
    seen = [at_s for at_s, share in held if share]
    if seen:
        first_s, last_s = seen[0], seen[-1]
    elif judged:
        first_s = min(result.started_at.timestamp() for result in judged)
        last_s = max((result.started_at + timedelta(seconds=result.duration_s)).timestamp() for result in judged)
    else:
        return None
    percents = [percent for at_s, percent in utilization if first_s <= at_s <= last_s]
    return {
        "seconds": last_s - first_s,
        "from": "holds" if seen else "evaluations",
        "samples": len(percents),
        "utilization": statistics.fmean(percents) / 100 if percents else None,
        "at_zero": percents.count(0.0) / len(percents) if percents else None,
    }


def _is_right(evaluation: Plain) -> bool:
    return str(evaluation["verdict"]).startswith(f"{Status.CORRECT.value}/")


def tables(found: Plain) -> Iterator[Table]:
    """The report for people."""
    yield _overview(found)
    yield _listed("right, by the time that they hold the device", [each for each in found["evaluations"] if _is_right(each)])
    yield _listed("verdicts that were not expected", [each for each in found["evaluations"] if not each["as_expected"]])


def _overview(found: Plain) -> Table:
    table = Table("", "", show_header=False)
    table.add_row(
        "submissions judged", f"{found['judged']} of {found['submissions']}{'' if found['complete'] else ' when the time was up'}"
    )
    table.add_row("wall", f"{found['wall_s']:.1f} s" + (f", {found['each_s']:.2f} s each" if found["each_s"] else ""))
    table.add_row("verdicts", ", ".join(f"{count} {status}" for status, count in found["statuses"].items()))
    table.add_row("as expected", str(found["as_expected"]))
    if held := found["held"]:
        text = f"{held['mean_s']:.2f} s, median {held['median_s']:.2f}, 95th percentile {held['p95_s']:.2f} ({held['count']})"
        table.add_row("right ones hold the device", text)
    if judging := found["phase"]:
        table.add_row("judging phase", f"{judging['seconds']:.1f} s")
        for key, label in {"utilization": "utilization", "at_zero": "samples at 0 %"}.items():
            if judging[key] is not None:
                table.add_row(label, f"{judging[key]:.1%}")
    return table


def _listed(title: str, evaluations: Sequence[Plain]) -> Table:
    table = Table("submission", "verdict", "speedup", "calls", "held s", title=title, title_justify="left")
    for each in sorted(evaluations, key=lambda each: -each["held_s"]):
        table.add_row(
            str(each["file"]).removesuffix("_kernel.py"),
            each["verdict"] if each["as_expected"] else f"{each['verdict']}, not {' or '.join(each['expected'])}",
            f"{each['speedup']:.3g}{' slow' if each['slow'] else ''}" if each["speedup"] else "",
            str(each["calls"] or ""),
            f"{each['held_s']:.2f}",
        )
    return table

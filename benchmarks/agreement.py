"""How far the judge's clock and the events agree, of every timing in a database: what limits on claims are calibrated by.

    python -m benchmarks.agreement --db sqlite:///FILE.db [--json FILE]

For each candidate that was timed on a GPU: what its worker claims for a call, by how much that call was longer by the judge's clock, one
at a time and in bursts (the least, less what the same takes without the call), and what the limits charge for it. Honest claims differ
by the clock's spread alone; the summary is over those that were correct.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy
from rich.console import Console
from rich.table import Table

from db.store import DEFAULT_URL, Store
from evaluator.judge.timing.cross_check import beyond_claim_ms, least, second_least, unclaimed_ms
from evaluator.results.category import Status
from evaluator.results.result import Result

CLAIMS = (("under 0.1 ms", 0.0, 0.1), ("0.1 to 1 ms", 0.1, 1.0), ("from 1 ms", 1.0, float("inf")))
"""Ranges of the claim, in ms."""


@dataclass(frozen=True)
class Agreement:
    """One timing, in ms."""

    submission: str
    category: str
    correct: bool
    gated: bool
    claim_ms: float
    single_ms: float
    """By how much a single call was longer by the judge's clock."""
    burst_ms: float | None
    """The same of a call among others; None where there were no bursts."""
    charged_ms: float
    """What the limits of this version add to the claim."""


def agreement(result: Result) -> Agreement | None:
    """What a result's timing shows; None where it was not timed on a GPU, or by an earlier protocol."""
    timing = result.evidence.timing
    if timing is None or timing.alone is None or not timing.candidate.single_ms or not timing.alone.single_ms:
        return None
    side, alone = timing.candidate, timing.alone
    return Agreement(
        submission=result.submission,
        category=result.category,
        correct=result.status is Status.CORRECT,
        gated=timing.gated,
        claim_ms=side.median_ms,
        single_ms=beyond_claim_ms(side, side.single_ms, alone.single_ms, least),
        burst_ms=beyond_claim_ms(side, side.burst_ms, alone.burst_ms, second_least) if side.burst_ms else None,
        charged_ms=unclaimed_ms(side, timing.baseline, alone, gated=timing.gated, in_a_row=timing.in_a_row),
    )


def tables(found: list[Agreement]) -> list[Table]:
    """All timings, and the spread over the honest ones."""
    rows = Table(title="the judge's clock beyond the claims, in µs", title_justify="left")
    for name in ("submission", "category", "gate", "claim", "single", "burst", "charged"):
        rows.add_column(name, justify="left" if name in ("submission", "category", "gate") else "right")
    for each in sorted(found, key=lambda each: each.claim_ms):
        burst = "" if each.burst_ms is None else f"{each.burst_ms * 1e3:+.1f}"
        gate = "" if each.gated else "none"
        rows.add_row(
            each.submission,
            each.category,
            gate,
            f"{each.claim_ms * 1e3:.1f}",
            f"{each.single_ms * 1e3:+.1f}",
            burst,
            f"{each.charged_ms * 1e3:.1f}",
        )
    return [rows, _summary([each for each in found if each.correct])]


def _summary(honest: list[Agreement]) -> Table:
    summary = Table(title=f"over {len(honest)} that were correct, in µs", title_justify="left")
    for name in ("gate", "claim", "clock", "timings", "least", "5 %", "median", "95 %", "most", "charged"):
        summary.add_column(name, justify="right")
    for gated in (True, False):
        for label, low_ms, high_ms in CLAIMS:
            some = [each for each in honest if each.gated is gated and low_ms <= each.claim_ms < high_ms]
            bursts = [each.burst_ms for each in some if each.burst_ms is not None]
            clocks = (("single", [each.single_ms for each in some]), ("burst", bursts))
            for clock, values in clocks:
                if values:
                    figures = (f"{value * 1e3:+.1f}" for value in numpy.quantile(values, (0.0, 0.05, 0.5, 0.95, 1.0)))
                    charged = str(sum(each.charged_ms > 0 for each in some)) if clock == "single" else ""
                    summary.add_row("yes" if gated else "none", label, clock, str(len(values)), *figures, charged)
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", action="append", metavar="URL", help=f"database with results (default: {DEFAULT_URL}); repeatable")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    options = parser.parse_args()
    found: list[Agreement] = []
    for url in options.db or [DEFAULT_URL]:
        with Store.open(url, read_only=True) as store:
            found += [each for stored in store.each() if (each := agreement(stored.result)) is not None]
    console = Console(width=160)
    for table in tables(found):
        console.print(table)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

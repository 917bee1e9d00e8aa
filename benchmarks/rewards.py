"""Measures the rewards per hour that the service gives a trainer, with real problems and submissions that all need a build.

    python -m benchmarks.rewards [--device cpu|cuda] [--no-timing] [--count N] [--group N] [--json FILE]

Starts the service in its own folder, and submits variants of the shipped submissions as a trainer does: groups of responses to one
problem, one `AsyncClient.score` per group, several groups at once. All submissions differ, so each is built; each is right, wrong or not
buildable like its origin. The clock runs from the first call to the last reward; the service is started before.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from assay_client import AsyncClient, Options, Reward
from rich.console import Console
from rich.table import Table

from benchmarks.variants import Variant, variants
from tests.web.service.process import Process

HOUR_S = 3600.0
KINDS = {"cpu": "cpp", "cuda": "cuda"}
"""Kind of variants by device."""
AT_ONCE = 8
"""Groups under way."""


class Service(Process):
    """A service on the chosen device."""

    def __init__(self, root: Path, device: str) -> None:
        super().__init__(root)
        self.judging = ("--device", device)


@dataclass
class Figures:
    """The figures of a run."""

    device: str
    submissions: int
    group: int
    took_s: float = 0.0
    categories: dict[str, int] = field(default_factory=dict)
    unfair: list[str] = field(default_factory=list)
    """Submissions judged differently from their origins."""

    @property
    def an_hour(self) -> float:
        return self.submissions / self.took_s * HOUR_S


def groups(made: Sequence[Variant], size: int) -> list[list[Variant]]:
    """Groups of at most so many, each of one problem, as a trainer samples them."""
    by_problem: dict[str, list[Variant]] = {}
    for variant in made:
        by_problem.setdefault(problem_of(variant), []).append(variant)
    return [found[start : start + size] for found in by_problem.values() for start in range(0, len(found), size)]


def problem_of(variant: Variant) -> str:
    """The variant's problem."""
    return variant.label.partition("/")[0]


async def score(service: Process, made: Sequence[Variant], size: int, timing: bool, figures: Figures) -> None:
    """Score all, several groups at once. Raises AssayError."""
    waiting = iter(groups(made, size))

    async def trainer(client: AsyncClient) -> None:
        for group in waiting:
            responses = [f"```python\n{each.code}\n```" for each in group]
            rewards = await client.score(responses, problem_of(group[0]), options=Options(timing=timing))
            note(group, rewards, figures)

    start = time.monotonic()
    try:
        async with AsyncClient(service.address, service.token) as client, asyncio.TaskGroup() as running:
            for _ in range(AT_ONCE):
                running.create_task(trainer(client))
    finally:
        figures.took_s, figures.submissions = time.monotonic() - start, sum(figures.categories.values())


def note(group: Sequence[Variant], rewards: Sequence[Reward], figures: Figures) -> None:
    """Count verdicts, and keep the unexpected ones."""
    for variant, each in zip(group, rewards, strict=True):
        assert each.evaluation.result is not None
        verdict = f"{each.evaluation.result.status}/{each.evaluation.result.category}"
        figures.categories[verdict] = figures.categories.get(verdict, 0) + 1
        if verdict.replace("/untimed", "/ok") not in variant.origin.expected:
            figures.unfair.append(f"{variant.label}: {verdict}, and not {' | '.join(sorted(variant.origin.expected))}")


def measure(root: Path, options: argparse.Namespace) -> Figures:
    """Start a service, and score everything, or what there is time for before an interrupt."""
    made = variants(KINDS[options.device], options.count)
    figures = Figures(options.device, len(made), options.group)
    with Service(root, options.device) as service, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(score(service, made, options.group, options.timing, figures))
    return figures


def show(figures: Figures) -> None:
    """Print a table of it."""
    table = Table(title=f"{figures.submissions} rewards in groups of up to {figures.group}, on {figures.device}")
    table.add_column("figure")
    table.add_column("value", justify="right")
    for name, value in (
        ("rewards an hour", f"{figures.an_hour:.0f}"),
        ("took s", f"{figures.took_s:.1f}"),
        *((name, str(count)) for name, count in Counter(figures.categories).most_common()),
        ("judged otherwise than their origins", str(len(figures.unfair))),
    ):
        table.add_row(name, value)
    Console().print(table)
    for text in figures.unfair:
        print(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 if each was judged like its origin."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rewards", description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--device", choices=tuple(KINDS), default="cpu", help="default: %(default)s")
    add("--timing", action=argparse.BooleanOptionalAction, default=True, help="take times (default: %(default)s)")
    add("--count", type=int, default=100, metavar="N", help="submissions (default: %(default)s)")
    add("--group", type=int, default=8, metavar="N", help="responses to one problem that are scored together (default: %(default)s)")
    add("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="assay-rewards-", ignore_cleanup_errors=True) as folder:
        figures = measure(Path(folder), options)
    show(figures)
    if options.json:
        options.json.write_text(json.dumps(asdict(figures) | {"an_hour": figures.an_hour}, indent=1), encoding="utf-8")
    return 1 if figures.unfair else 0


if __name__ == "__main__":
    sys.exit(main())

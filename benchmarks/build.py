"""Measures how fast extensions build, by PyTorch's stock way and by ours, cold.

    python -m benchmarks.build --kind cuda|cpp [--limit N]

Builds the first extension of each shipped submission both ways, in turns, with an empty build cache. Ours shares headers, which are made
once beforehand; their time is reported separately.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.extensions import Extension, shipped_extensions
from evaluator.build import Builder, BuildOutcome, Cache, Toolchain
from evaluator.sandbox import Zygote, best_level

TARGETS = {"cuda": 5.0, "cpp": 3.0}
"""Target of the geometric mean speedup of ours."""


@dataclass
class Row:
    """Figures of one extension."""

    label: str
    verdict: str = ""
    same_verdict: bool = True
    fell_back: bool = False
    """Whether ours fell back to the stock way for a part."""
    stock_s: float = 0.0
    ours_s: float = 0.0

    @property
    def ratio(self) -> float:
        """Speedup of ours."""
        return self.stock_s / self.ours_s


@dataclass(frozen=True)
class Bench:
    """The two builders; they share only the sandbox."""

    ours: Builder
    ours_cache: Cache
    stock: Builder
    stock_cache: Cache

    def measure(self, extension: Extension, row: Row, stock_first: bool) -> None:
        """Build once each way, and add the figures to `row`."""
        both: list[Callable[[], BuildOutcome]] = [lambda: self._ours(extension, row), lambda: self._stock(extension, row)]
        done = [way() for way in (reversed(both) if stock_first else both)]
        stock, ours = done if stock_first else reversed(done)
        row.verdict = str(ours.evidence.category or "ok")
        row.same_verdict = ours.evidence.category is stock.evidence.category
        row.fell_back = any(not attempt.ok and attempt.way != "stock" for attempt in ours.evidence.attempts)

    def _stock(self, extension: Extension, row: Row) -> BuildOutcome:
        _forget_builds(self.stock_cache)
        row.stock_s, outcome = _timed(self.stock, extension)
        return outcome

    def _ours(self, extension: Extension, row: Row) -> BuildOutcome:
        _forget_builds(self.ours_cache)
        row.ours_s, outcome = _timed(self.ours, extension)
        return outcome


def main() -> int:
    """Returns exit code 0 if every verdict was the same both ways."""
    options = _parser().parse_args()
    console = Console(stderr=True)
    toolchain = Toolchain.find(None)
    kind = options.kind
    with console.status("reading the submissions"):
        found = [item for item in shipped_extensions() if item.request.uses_cuda == (kind == "cuda")]
    count = min(options.limit or len(found), len(found))
    chosen = [found[number * len(found) // count] for number in range(count)]
    with ExitStack() as stack:
        level = best_level()
        zygote = stack.enter_context(Zygote.start((), level)) if level else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-bench-")))
        caches = Cache(folder / "ours"), Cache(folder / "stock")
        bench = Bench(Builder(caches[0], toolchain, zygote), caches[0], Builder(caches[1], toolchain, zygote, stock_only=True), caches[1])
        start = time.monotonic()
        with console.status("making the shared headers"):
            for flags in sorted({extension.request.extra_cflags for extension in chosen}):
                bench.ours.prepare(kind == "cuda", flags)
        prepared_s = time.monotonic() - start
        rows = _measure_all(bench, chosen, console)
    _show(kind, toolchain, prepared_s, rows)
    return 0 if all(row.same_verdict for row in rows) else 1


def _measure_all(bench: Bench, chosen: Sequence[Extension], console: Console) -> list[Row]:
    rows = [Row(extension.label) for extension in chosen]
    for number, (extension, row) in enumerate(zip(chosen, rows, strict=True)):
        bench.measure(extension, row, stock_first=number % 2 == 0)
        console.print(f"{extension.label}: stock {row.stock_s:.1f} s, ours {row.ours_s:.1f} s", highlight=False)
    return rows


def _show(kind: str, toolchain: Toolchain, prepared_s: float, rows: Sequence[Row]) -> None:
    compiler = toolchain.nvcc if kind == "cuda" else toolchain.cxx
    table = Table(title=f"{kind} extensions, {compiler.version if compiler else 'no compiler'}, {os.cpu_count()} cores")
    for heading in ("extension", "verdict", "stock s", "ours s", "ratio", "again stock"):
        table.add_column(heading, justify="left" if heading in ("extension", "verdict", "again stock") else "right", no_wrap=True)
    for row in rows:
        verdict = row.verdict if row.same_verdict else f"{row.verdict} (stock differs)"
        figures = [f"{row.stock_s:.1f}", f"{row.ours_s:.1f}", f"{row.ratio:.2f}"]
        table.add_row(row.label, verdict, *figures, "yes" if row.fell_back else "")
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(table)
    console.print(
        f"geometric mean {_geometric_mean(rows):.2f} (target {TARGETS[kind]:g}), "
        f"successful builds {_geometric_mean([row for row in rows if row.verdict == 'ok']):.2f}; "
        f"shared headers made in {prepared_s:.1f} s"
    )


def _timed(builder: Builder, extension: Extension) -> tuple[float, BuildOutcome]:
    start = time.perf_counter()
    outcome = builder.build(extension.request)
    seconds = time.perf_counter() - start
    if outcome.object_fd is not None:
        os.close(outcome.object_fd)
    return seconds, outcome


def _forget_builds(cache: Cache) -> None:
    shutil.rmtree(cache.root / "builds", ignore_errors=True)


def _geometric_mean(rows: Sequence[Row]) -> float:
    return statistics.geometric_mean(row.ratio for row in rows) if rows else 0.0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.build", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kind", choices=sorted(TARGETS), required=True)
    parser.add_argument("--limit", type=int, metavar="N", help="at most so many extensions, spread evenly over all")
    return parser


if __name__ == "__main__":
    sys.exit(main())

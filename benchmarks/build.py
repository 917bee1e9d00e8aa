"""Measures how fast extensions build, by PyTorch's stock way and by ours, cold, and how fast one comes from the cache.

    python -m benchmarks.build [--limit N] [--repetitions N] [--json FILE] [NAME...]

Measures the shipped CUDA submissions if nvcc is installed, else the C++ ones (`--kind` chooses; `sources` are made-up C++ extensions of
several sources). Each repetition builds every extension both ways, alternating, with an empty build cache. Ours shares headers, which are
made once beforehand; their time is reported separately.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.extensions import Extension, several_sources, shipped_extensions
from evaluator.build import Builder, BuildOutcome, Cache, Toolchain
from evaluator.sandbox import Zygote, best_level

WARM_REPETITIONS = 5
TARGETS = {"cuda": 5.0, "cpp": 3.0, "sources": 3.0}
"""Target of the geometric mean speedup of ours."""


@dataclass
class Row:
    """Figures of one extension; lists have one entry per repetition."""

    label: str
    verdict: str = ""
    same_verdict: bool = True
    fell_back: bool = False
    """Whether ours fell back to the stock way for a part."""
    ways: list[str] = field(default_factory=list)
    stock_s: list[float] = field(default_factory=list)
    ours_s: list[float] = field(default_factory=list)
    warm_ms: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Speedup of ours, from the medians."""
        return statistics.median(self.stock_s) / statistics.median(self.ours_s)


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
        row.same_verdict = row.same_verdict and ours.evidence.category is stock.evidence.category
        row.ways = [f"{attempt.output}: {attempt.way}" for attempt in ours.evidence.attempts if attempt.ok]
        row.fell_back = row.fell_back or any(not attempt.ok and attempt.way != "stock" for attempt in ours.evidence.attempts)

    def _stock(self, extension: Extension, row: Row) -> BuildOutcome:
        _forget_builds(self.stock_cache)
        seconds, outcome = _timed(self.stock, extension)
        row.stock_s.append(seconds)
        return outcome

    def _ours(self, extension: Extension, row: Row) -> BuildOutcome:
        _forget_builds(self.ours_cache)
        seconds, outcome = _timed(self.ours, extension)
        row.ours_s.append(seconds)
        row.warm_ms += [_timed(self.ours, extension)[0] * 1e3 for _ in range(WARM_REPETITIONS)]
        return outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns exit code 0 if every verdict was the same both ways."""
    options = _parser().parse_args(arguments)
    console = Console(stderr=True)
    toolchain = Toolchain.find(None)
    kind = options.kind or ("cuda" if toolchain.nvcc else "cpp")
    with console.status("reading the submissions"):
        found = list(several_sources() if kind == "sources" else shipped_extensions())
        found = [item for item in found if item.request.uses_cuda == (kind == "cuda")]
    chosen = _chosen(found, options.names, options.limit)
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
        rows = _measure_all(bench, chosen, options.repetitions, console)
    report = _report(kind, toolchain, str(level), prepared_s, rows)
    _show(report, rows, Console(width=None if sys.stdout.isatty() else 140))
    if options.json:
        Path(options.json).write_text(json.dumps({**report, "extensions": [{**asdict(row), "ratio": row.ratio} for row in rows]}, indent=1))
    return 0 if all(row.same_verdict for row in rows) else 1


def _measure_all(bench: Bench, chosen: Sequence[Extension], repetitions: int, console: Console) -> list[Row]:
    rows = [Row(extension.label) for extension in chosen]
    with Progress(console=console) as progress:
        task = progress.add_task("building", total=repetitions * len(chosen))
        for repetition in range(repetitions):
            for number, (extension, row) in enumerate(zip(chosen, rows, strict=True)):
                progress.update(task, description=extension.label)
                bench.measure(extension, row, stock_first=(repetition + number) % 2 == 0)
                progress.advance(task)
                if not console.is_terminal:
                    console.print(f"{extension.label}: stock {row.stock_s[-1]:.1f} s, ours {row.ours_s[-1]:.1f} s", highlight=False)
    return rows


def _report(kind: str, toolchain: Toolchain, level: str, prepared_s: float, rows: Sequence[Row]) -> dict[str, object]:
    built = [row for row in rows if row.verdict == "ok"]
    return {
        "kind": kind,
        "cores": os.cpu_count(),
        "sandbox": level,
        "torch": toolchain.torch.version,
        "nvcc": toolchain.nvcc.version if toolchain.nvcc else None,
        "cxx": toolchain.cxx.version if toolchain.cxx else None,
        "links": kind != "cuda" or toolchain.links_cuda,
        "prepared_s": prepared_s,
        "ratio": _geometric_mean(row.ratio for row in rows),
        "ratio_of_those_that_build": _geometric_mean(row.ratio for row in built),
        "target": TARGETS[kind],
        "longest_warm_ms": max((max(row.warm_ms) for row in rows), default=0.0),
    }


def _show(report: dict[str, object], rows: Sequence[Row], console: Console) -> None:
    table = Table(title=f"{report['kind']} extensions, stock against ours")
    for heading in ("extension", "verdict", "stock s", "ours s", "ratio", "again stock", "warm ms"):
        table.add_column(heading, justify="left" if heading in ("extension", "verdict", "again stock") else "right", no_wrap=True)
    for row in rows:
        verdict = row.verdict if row.same_verdict else f"{row.verdict} (stock differs)"
        figures = [f"{statistics.median(row.stock_s):.1f}", f"{statistics.median(row.ours_s):.1f}", f"{row.ratio:.2f}"]
        table.add_row(row.label, verdict, *figures, "yes" if row.fell_back else "", f"{statistics.median(row.warm_ms):.1f}")
    console.print(table)
    console.print(
        f"geometric mean {report['ratio']:.2f} (target {report['target']:g}), successful builds {report['ratio_of_those_that_build']:.2f}; "
        f"longest warm hit {report['longest_warm_ms']:.0f} ms; shared headers made in {report['prepared_s']:.1f} s"
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


def _chosen(found: Sequence[Extension], names: Sequence[str], limit: int | None) -> list[Extension]:
    """The named ones, or all; of these `limit`, spread evenly."""
    wanted = [item for item in found if not names or any(name in item.label for name in names)]
    if limit is None or limit >= len(wanted):
        return wanted
    return [wanted[number * len(wanted) // limit] for number in range(limit)]


def _geometric_mean(ratios: Iterable[float]) -> float:
    values = list(ratios)
    return math.exp(statistics.fmean(math.log(value) for value in values)) if values else 0.0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.build", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only submissions whose path contains this")
    parser.add_argument("--kind", choices=sorted(TARGETS), help="cuda where there is nvcc, else cpp; sources: several in C++")
    parser.add_argument("--limit", type=int, metavar="N", help="at most so many extensions, spread evenly over all")
    parser.add_argument("--repetitions", type=int, default=1, metavar="N", help="cold builds of each extension, each way (default 1)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    return parser


if __name__ == "__main__":
    sys.exit(main())

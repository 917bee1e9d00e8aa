"""Shared by the parts of benchmarks.throughput: the report, a clock with a budget, and the two compared programs."""

import argparse
import json
import math
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.pipeline_run import PipelineRun, Place, run_pipeline
from benchmarks.stock_protocol import StockRun, Subject, run_stock
from evaluator.machine.devices import Device


@dataclass(frozen=True)
class Scaled:
    """Time of a whole."""

    total_s: float
    error_s: float | None
    """Standard error, for a sample without replacement; 0 if all were measured, None for a sample of one."""
    measured: int
    of: int


def scaled(sample_s: Sequence[float], count: int) -> Scaled:
    """Estimate for `count` items from `sample_s`, the times of one or more that were chosen at random without replacement."""
    measured = len(sample_s)
    total_s = statistics.fmean(sample_s) * count
    if measured == count:
        return Scaled(total_s, 0.0, measured, count)
    if measured == 1:
        return Scaled(total_s, None, measured, count)
    error_s = count * statistics.stdev(sample_s) * math.sqrt((1 - measured / count) / measured)
    return Scaled(total_s, error_s, measured, count)


@dataclass
class Bench:
    """State shared by all parts; `report` is written after each measurement."""

    options: argparse.Namespace
    device: Device
    folder: Path
    console: Console
    report: dict[str, Any]
    start: float = field(default_factory=time.monotonic)
    longest_s: float = 60.0
    """Longest yardstick so far; before the first, a guess."""

    @property
    def left_s(self) -> float:
        """Remaining budget."""
        return float(self.options.budget) - (time.monotonic() - self.start)

    def short(self, name: str) -> str:
        """A submission's name; relative for files in the benchmark's own folder."""
        return name.removeprefix(f"{self.folder}/")

    def tell(self, text: str) -> None:
        """Print a line of progress, with the time since the start and the load average."""
        self.console.print(
            f"[{time.monotonic() - self.start:5.0f} s, load {os.getloadavg()[0]:4.1f}] {text}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )

    def write(self) -> None:
        """Write the report so far."""
        if self.options.json:
            written(Path(self.options.json), self.report)

    def ours(
        self,
        part: dict[str, Any],
        name: str,
        paths: Sequence[Path],
        cache: Path,
        env: dict[str, str] | None = None,
    ) -> PipelineRun:
        """Run the command line over `paths`, and note it in `part`. Raises RunFailedError."""
        self.tell(f"{name}: pipeline.py")
        arguments = [*map(str, paths), "--every-block", "--device", self.device.kind]
        place = Place(self.folder / name.replace(" ", "-"), cache)
        run = run_pipeline(arguments, place, timeout_s=max(self.left_s, 1.0), tell=lambda text: self.tell(f"{name}: {text}"), env=env)
        self.tell(f"{name}: {len(run.results)} judged in {run.wall_s:.1f} s{'' if run.complete else ', then the time limit was reached'}")
        part[name] = described(run, self.short)
        self.write()
        return run

    def stock(self, part: dict[str, Any], name: str, chosen: Sequence[tuple[int, Subject]], folder: Path) -> list[StockRun]:
        """Judge one after another while there is time, and note it in `part`, scaled to all of the part.

        The numbers name the build folders.
        """
        runs: list[StockRun] = []
        for place, (number, subject) in enumerate(chosen, 1):
            if self.left_s < self.longest_s:
                self.tell(f"{name}: no time for the remaining {len(chosen) - len(runs)}")
                break
            run = run_stock(subject, self.device.kind, folder / str(number))
            runs.append(run)
            self.longest_s = max(self.longest_s, run.wall_s)
            self.tell(f"{name}: {place} of {len(chosen)}: {subject.label}: {run.verdict} in {run.wall_s:.1f} s")
            part[name] = [asdict(each) for each in runs]
            part[f"{name} scaled"] = asdict(scaled([each.wall_s for each in runs], part["submissions"]))
            self.write()
        return runs


def written(target: Path, report: dict[str, Any]) -> None:
    """Write a whole report, replacing an older one."""
    new = target.with_name(f".{target.name}.new")
    new.write_text(json.dumps(report, indent=1), encoding="utf-8")
    new.replace(target)


def described(run: PipelineRun, short: Callable[[str], str]) -> dict[str, Any]:
    """A run as plain data, with short names of submissions."""
    return {
        "wall_s": run.wall_s,
        "complete": run.complete,
        "judged": len(run.results),
        "categories": Counter(f"{result.status}/{result.category}" for result in run.results),
        "devices": sorted({result.device for result in run.results if result.device}),
        "evaluations": [
            {
                "submission": short(result.submission),
                "block": result.block,
                "verdict": f"{result.status}/{result.category}",
                "duration_s": result.duration_s,
            }
            for result in run.results
        ],
    }

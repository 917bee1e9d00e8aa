"""Measures how accurate times are, on a ladder of honest kernels.

    python -m benchmarks.timing [--device cuda|cpu] [--protocol NAME] [--repetitions 20] [--budget 900] [--rungs NAME,…] [--json FILE]

(a) Repeatability: the whole ladder is judged repeatedly, `--repetitions` times or until the budget (in seconds) is spent. The spread is
the largest deviation of the speedup from its median in 19 of 20 evaluations.
(b) Truth: torch.profiler (CUPTI) measures calls in this process, each after a flush if the protocol has one, from the start of a call's
first kernel to the end of its last one. Profiling delays each kernel. Events around the calls, with and without the profiler, measure the
delay; its part between a call's kernels is subtracted. On a CPU it is the profiler's own clock around the call. The bias is the judge's
time minus the truth.

The submissions are PyTorch's own kernels, so that nothing is compiled; their references do the same work in another way.
"""

import argparse
import hashlib
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.ladder import Rung, ladder
from benchmarks.truth import Caller, Truth, truth_of
from evaluator.engine.judge_process import make_context
from evaluator.engine.options import EngineOptions, launch_recorder
from evaluator.engine.warm_parents import WARM_ENVIRONMENT, WORKER_MODULE
from evaluator.job import Job
from evaluator.judge.context import JudgeContext
from evaluator.judge.evaluate import evaluate
from evaluator.judge.timing.protocols import choose
from evaluator.machine import devices
from evaluator.machine.cache_folder import default_root
from evaluator.results.result import EVALUATOR_VERSION, Result
from evaluator.sandbox import Zygote, best_level

SHARE = 0.95
"""Share of the evaluations within the reported spread."""
TRUTH_SHARE = 0.2
"""Share of the budget for the truth: fewer calls of slow kernels are profiled."""
TIMEOUT_S = 60.0
TARGETS = {"cuda": ((0.1, 0.01), (0.01, 0.03)), "cpu": ((0.02, 0.05),)}
"""Targets by kind of device: from this time in ms on (the shorter of submission and baseline), the speedup's maximum deviation in 19 of 20
evaluations."""


@dataclass
class Climbed:
    """Measurements of one rung."""

    rung: str
    device_kind: str
    speedups: list[float] = field(default_factory=list)
    intervals: list[tuple[float, float]] = field(default_factory=list)
    """The speedup's interval in each evaluation."""
    times_ms: list[float] = field(default_factory=list)
    """The submission's time in each evaluation."""
    baselines_ms: list[float] = field(default_factory=list)
    late_ms: list[float] = field(default_factory=list)
    """Time that the judge's clock added to the claims."""
    failures: list[str] = field(default_factory=list)
    truth: Truth | None = None

    def note(self, result: Result) -> None:
        """Add an evaluation."""
        timing, interval = result.evidence.timing, result.speedup_interval
        if result.speedup is None or result.runtime_ms is None or timing is None or interval is None:
            self.failures.append(f"{result.category}: {result.message}"[:200])
            return
        self.speedups.append(result.speedup)
        self.intervals.append(interval)
        self.times_ms.append(result.runtime_ms)
        self.baselines_ms.append(timing.baseline_ms)
        self.late_ms.append(timing.late_ms)

    @property
    def spread(self) -> float | None:
        """Largest deviation of the speedup from its median in SHARE of the evaluations, as a share; None below two."""
        if len(self.speedups) < 2:
            return None
        middle = statistics.median(self.speedups)
        deviations = sorted(abs(speedup / middle - 1) for speedup in self.speedups)
        return deviations[math.ceil(SHARE * len(deviations)) - 1]

    @property
    def covered(self) -> int:
        """Number of evaluations whose interval holds the median of all speedups. Of each twenty, 19 should."""
        middle = statistics.median(self.speedups) if self.speedups else 0.0
        return sum(low <= middle <= high for low, high in self.intervals)

    @property
    def time_ms(self) -> float | None:
        return statistics.median(self.times_ms) if self.times_ms else None

    @property
    def shorter_ms(self) -> float | None:
        """The shorter of the speedup's two times."""
        return min(map(statistics.median, (self.times_ms, self.baselines_ms))) if self.times_ms else None

    @property
    def truth_ms(self) -> float | None:
        return self.truth.ms if self.truth else None

    @property
    def bias_ms(self) -> float | None:
        """Bias of the time against the truth; None if either is not known."""
        return None if self.time_ms is None or self.truth_ms is None else self.time_ms - self.truth_ms

    @property
    def reaches(self) -> bool | None:
        """Whether the spread meets the target for kernels of this length; None without a target."""
        shorter_ms = self.shorter_ms
        target = next((share for least_ms, share in TARGETS[self.device_kind] if shorter_ms is not None and shorter_ms >= least_ms), None)
        return None if target is None or self.spread is None else self.spread <= target

    @property
    def is_true(self) -> bool | None:
        """Whether the time is within 2 % or 1 µs of the truth."""
        if self.bias_ms is None or self.truth_ms is None:
            return None
        return abs(self.bias_ms) <= max(0.02 * self.truth_ms, 1e-3)

    def record(self) -> dict[str, Any]:
        """All data, for JSON."""
        derived = {
            name: getattr(self, name)
            for name in ("spread", "covered", "time_ms", "shorter_ms", "truth_ms", "bias_ms", "reaches", "is_true")
        }
        return asdict(self) | derived


@contextmanager
def context_of(spec: str) -> Iterator[JudgeContext]:
    """A judge context, with a fork server like the engine's."""
    device, _ = devices.choose(spec)
    options = EngineOptions(device=device, stands_in=False, judges=1, cache_root=default_root())
    recorder = launch_recorder(options)
    environment = WARM_ENVIRONMENT | ({"LD_PRELOAD": recorder} if recorder else {})
    with Zygote.start((WORKER_MODULE,), best_level(), environment) as zygote:
        yield make_context(options, zygote)


def judge(context: JudgeContext, rung: Rung, folder: Path, protocol: str | None) -> Result:
    """Evaluate a rung's submission once."""
    problem_path = folder / f"{rung.kind}_{rung.size}.py"
    problem_path.write_text(rung.problem(), encoding="utf-8")
    code = rung.submission()
    job = Job(
        submission=rung.name,
        block=None,
        author=None,
        sample_id=None,
        code=code,
        source_sha256=hashlib.sha256(code.encode()).hexdigest(),
        problem=problem_path.stem,
        problem_path=problem_path,
        case="full",
        note="",
        timeout_s=TIMEOUT_S,
        protocol=protocol,
    )
    return evaluate(context, job, lambda _: None)


def climb(options: argparse.Namespace, rungs: Sequence[Rung]) -> list[Climbed]:
    """Measure within the budget: truth first, then repeated evaluations."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name, context_of(options.device) as context:
        folder = Path(name)
        climbed = [Climbed(rung.name, context.device.kind) for rung in rungs]
        is_cold = choose(options.protocol, context.device.kind).is_cold
        threads = torch.get_num_threads()
        torch.set_num_threads(len(context.cores) or threads)  # as many as in the workers
        for rung, one in zip(rungs, climbed, strict=True):
            caller = Caller(rung, folder, torch.device(context.device.torch_device), is_cold)
            one.truth = truth_of(caller, TRUTH_SHARE * options.budget / len(rungs))
            caller.close()
            if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
                torch.cuda.empty_cache()
        torch.set_num_threads(threads)
        for _ in range(options.repetitions):
            for rung, one in zip(rungs, climbed, strict=True):
                if time.monotonic() - start >= options.budget and one.speedups:
                    return climbed
                one.note(judge(context, rung, folder, options.protocol))
    return climbed


def table_of(climbed: Sequence[Climbed]) -> Table:
    """One line per rung."""
    columns = ("kernel", "time ms", "evaluations", "speedup", "spread of 95 %", "covered", "charged")
    table = Table(*columns, "truth ms", "bias", "failed")
    for one in climbed:
        mark = {True: " ✓", False: " ✗", None: ""}
        bias = "" if one.bias_ms is None or not one.truth_ms else f"{one.bias_ms * 1e3:+.2f} µs, {one.bias_ms / one.truth_ms:+.1%}"
        table.add_row(
            one.rung,
            _figure(one.time_ms),
            str(len(one.speedups)),
            _figure(statistics.median(one.speedups) if one.speedups else None),
            "" if one.spread is None else f"±{one.spread:.2%}{mark[one.reaches]}",
            f"{one.covered}/{len(one.intervals)}",
            f"{sum(late_ms > 0 for late_ms in one.late_ms)}/{len(one.late_ms)}",
            _figure(one.truth_ms),
            bias + mark[one.is_true],
            f"{len(one.failures)}: {one.failures[0]}" if one.failures else "",
        )
    return table


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and write all data if requested."""
    parser = argparse.ArgumentParser(description="Measures how accurate times are, on a ladder of honest kernels.")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--protocol")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--budget", type=float, default=900.0, metavar="S", help="seconds; every kernel is judged at least once")
    parser.add_argument("--rungs", help="only rungs whose names begin with one of these, separated by commas")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    kind = "cpu" if options.device == "cpu" else "cuda"
    wanted = tuple(options.rungs.split(",")) if options.rungs else ("",)
    rungs = [rung for rung in ladder(kind) if rung.name.startswith(wanted)]
    climbed = climb(options, rungs)
    Console(width=220).print(table_of(climbed))
    if options.json:
        report = {"device": options.device, "protocol": choose(options.protocol, kind).name, "evaluator": EVALUATOR_VERSION}
        report |= {"budget_s": options.budget, "rungs": [one.record() for one in climbed]}
        options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

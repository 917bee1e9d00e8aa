"""How far times can be trusted, on a ladder of honest kernels.

    python -m benchmarks.timing [--device cuda|cpu] [--protocol NAME] [--repetitions 20] [--budget 900] [--rungs NAME,…] [--ncu NAME]
                                [--cores LIST/LIST/…] [--json FILE]

(a) Repeatability: each kernel is judged over and over, by turns of the whole ladder, until that was often enough or the budget (in seconds)
is spent; the spread is how far the speedup of 19 of 20 evaluations is from their median at the most.
(b) Truth: what torch.profiler, which asks CUPTI, says of calls in this process, each after a flush where the protocol has one: from the
beginning of a call's first kernel to the end of its last one. Being profiled delays each kernel; that is told by events around the calls,
with and without the profiler, and what of it is between a call's kernels is taken off. One of them is measured by ncu too, where that is
asked for and allowed: the sum of its kernels. On a processor it is the profiler's own clock around the call.
(c) Cost: what the timing takes beyond the calls, for each of them, and the bias of the device time against the truth.

On a processor, `--cores` judges every kernel with its workers kept to each of these lists of cores by turns, side by side; `none` keeps
them to no cores.

The submissions are PyTorch's own kernels, so that nothing is compiled, and their references the same work done otherwise.
"""

import argparse
import contextlib
import csv
import hashlib
import io
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.hold import bench_of
from evaluator.figures import cores_text
from evaluator.judge.bench import Bench, Job
from evaluator.judge.bursts import room_bytes
from evaluator.judge.cores import read_cores
from evaluator.judge.evaluation import evaluate
from evaluator.judge.flush import Flush
from evaluator.judge.memory import Memory
from evaluator.judge.protocols import choose
from evaluator.problem import load
from evaluator.result import EVALUATOR_VERSION, Result

SHARE = 0.95
"""Of the evaluations, whose spread is told."""
TRUTH_CALLS = 30
TRUTH_SHARE = 0.2
"""Of the budget, what truth may take: of slow kernels fewer calls are profiled."""
TIMEOUT_S = 60.0
BESIDE_KERNELS = ("FillFunctor", "spin_kernel")
"""In the names of what empties the cache here, and of what the device waits with, and of no kernel of the ladder."""
AHEAD_CYCLES = 20_000_000
"""For which the device waits before a call, some 10 ms, so that all of it is enqueued when its first kernel starts."""
CALL = "assay_call"
TARGETS = ((0.1, 0.01), (0.01, 0.03))
"""From this time in ms on, of the shorter of submission and baseline, a speedup within this share, in 19 of 20 evaluations."""

_PROBLEM = '''"""{text}."""

import torch
from torch import nn

{constants}
ASSAY = {{"description": "{text}", "cases": {{"full": {{}}, "small": {{}}}}, "rows_independent": False}}


class Model(nn.Module):
    def forward(self, {parameters}):
        return {reference}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
'''
_SUBMISSION = """import torch
from torch import nn


def chain(x, count):
    for _ in range(count):
        x = torch.add(x, 0.01)
    return x


class ModelNew(nn.Module):
    def forward(self, {parameters}):
        return {call}
"""


@dataclass(frozen=True)
class Rung:
    """One kernel in one size."""

    kind: str
    size: int
    call: str
    reference: str
    inputs: tuple[str, ...]
    """Expressions in `size`."""

    @property
    def name(self) -> str:
        return f"{self.kind} {self.size}"

    @property
    def parameters(self) -> str:
        return ", ".join("xyz"[: len(self.inputs)])

    def problem(self) -> str:
        """Text of the problem's file."""
        return _PROBLEM.format(
            text=self.name,
            constants=f"size = {self.size}\n",
            parameters=self.parameters,
            reference=self.reference,
            inputs=", ".join(self.inputs),
        )

    def submission(self) -> str:
        """Text of what is judged."""
        return _SUBMISSION.format(parameters=self.parameters, call=self.call)


def ladder(device_kind: str) -> list[Rung]:
    """The rungs, from the shortest to the longest of each kind: on an H200 from some 2 µs to some 100 ms."""
    on_gpu = device_kind == "cuda"
    elements = (1 << 12, 1 << 20, 1 << 24, 1 << 28, 1 << 30) if on_gpu else (1 << 12, 1 << 18, 1 << 22)
    rows = (1 << 4, 1 << 10, 1 << 14, 1 << 18) if on_gpu else (1 << 4, 1 << 9)
    sides = (256, 1024, 4096, 8192, 16384) if on_gpu else (128, 512)
    counts = (8, 64, 512) if on_gpu else (8, 64)
    flat, wide, square = "torch.randn(size)", "torch.randn(size, 4096)", "torch.randn(size, size)"
    return [
        *(Rung("elementwise", n, "torch.relu(x)", "torch.maximum(x, torch.zeros_like(x))", (flat,)) for n in elements),
        *(Rung("reduction", n, "x.sum(1)", "x.mean(1) * 4096", (wide,)) for n in rows),
        *(Rung("matmul", n, "torch.mm(x, y)", "torch.einsum('ij,jk->ik', x, y)", (square, square)) for n in sides),
        *(Rung("launches", n, f"chain(x, {n})", f"x + 0.01 * {n}", ("torch.randn(4096)",)) for n in counts),
    ]


@dataclass(frozen=True)
class Truth:
    """A call's time by the profiler."""

    span_ms: float
    """From the beginning of its first kernel to the end of its last one; on a processor, of the call."""
    kernels: int = 1
    delay_ms: float = 0.0
    """How much longer a call takes for being profiled."""

    @property
    def ms(self) -> float:
        """Without the delays of all kernels but the first, which are within the span."""
        return self.span_ms - self.delay_ms * (self.kernels - 1) / self.kernels


@dataclass
class Climbed:
    """What is known of one rung."""

    rung: str
    cores: tuple[int, ...] = ()
    """What its workers were kept to."""
    speedups: list[float] = field(default_factory=list)
    times_ms: list[float] = field(default_factory=list)
    """The submission's, of each evaluation."""
    baselines_ms: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    """Of the intervals, as shares of the speedup."""
    samples: list[int] = field(default_factory=list)
    stops: list[str] = field(default_factory=list)
    late_ms: list[float] = field(default_factory=list)
    """What the judge's clock added to what calls claim."""
    overheads_ms: list[float] = field(default_factory=list)
    """What the timing took beyond the calls, for each call of either side."""
    failures: list[str] = field(default_factory=list)
    truth: Truth | None = None
    ncu_ms: float | None = None

    def note(self, result: Result) -> None:
        """One more evaluation."""
        timing, interval = result.evidence.timing, result.speedup_interval
        if result.speedup is None or result.runtime_ms is None or timing is None or interval is None:
            self.failures.append(f"{result.category}: {result.message}"[:200])
            return
        self.speedups.append(result.speedup)
        self.times_ms.append(result.runtime_ms)
        self.baselines_ms.append(timing.baseline_ms)
        self.widths.append((interval[1] - interval[0]) / result.speedup)
        self.samples.append(len(timing.candidate.samples_ms))
        self.stops.append(timing.stop)
        self.late_ms.append(timing.late_ms)
        calls_ms = timing.calls * (timing.candidate.median_ms + timing.baseline.median_ms)
        self.overheads_ms.append((result.evidence.stages_s["timing"] * 1e3 - calls_ms) / (2 * timing.calls))

    @property
    def spread(self) -> float | None:
        """How far the speedup of SHARE of the evaluations is from the median at the most, as a share; None below two."""
        if len(self.speedups) < 2:
            return None
        middle = statistics.median(self.speedups)
        deviations = sorted(abs(speedup / middle - 1) for speedup in self.speedups)
        return deviations[math.ceil(SHARE * len(deviations)) - 1]

    @property
    def time_ms(self) -> float | None:
        return statistics.median(self.times_ms) if self.times_ms else None

    @property
    def shorter_ms(self) -> float | None:
        """The shorter of the two times that the speedup is of."""
        return min(map(statistics.median, (self.times_ms, self.baselines_ms))) if self.times_ms else None

    @property
    def truth_ms(self) -> float | None:
        return self.truth.ms if self.truth else None

    @property
    def bias_ms(self) -> float | None:
        """Of the time against the truth; None where one of them is not known."""
        return None if self.time_ms is None or self.truth_ms is None else self.time_ms - self.truth_ms

    @property
    def reaches(self) -> bool | None:
        """Whether the spread is what is aimed at for kernels that take so long; None where nothing is."""
        shorter_ms = self.shorter_ms
        target = next((share for least_ms, share in TARGETS if shorter_ms is not None and shorter_ms >= least_ms), None)
        return None if target is None or self.spread is None else self.spread <= target

    @property
    def is_true(self) -> bool | None:
        """Whether the time is within 2 % or 1 µs of the truth."""
        if self.bias_ms is None or self.truth_ms is None:
            return None
        return abs(self.bias_ms) <= max(0.02 * self.truth_ms, 1e-3)

    def record(self) -> dict[str, Any]:
        """Everything, for JSON."""
        derived = {name: getattr(self, name) for name in ("spread", "time_ms", "shorter_ms", "truth_ms", "bias_ms", "reaches", "is_true")}
        return asdict(self) | derived


def judge(bench: Bench, rung: Rung, folder: Path, protocol: str | None) -> Result:
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
    return evaluate(bench, job, lambda _: None)


class Caller:
    """Calls a rung's submission in this process, each after a flush where one is wanted."""

    def __init__(self, rung: Rung, folder: Path, device: torch.device, is_cold: bool) -> None:
        path = folder / f"{rung.kind}_{rung.size}_truth.py"
        path.write_text(rung.problem(), encoding="utf-8")
        case = load(path).instance("full")
        names: dict[str, Any] = {}
        exec(compile(rung.submission(), rung.name, "exec"), names)
        self._model, self.device = names["ModelNew"](), device
        self._inputs = case.inputs(7, device)
        self._memory = Memory(device)
        flushed = device.type == "cuda" and is_cold
        self._areas = [area.bytes for area in Flush(self._memory, room_bytes(device)).allocations[:1]] if flushed else []

    def __call__(self) -> float:
        """Call once: the time in ms by events around the call; 0 on a processor."""
        on_gpu = self.device.type == "cuda"
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2 * on_gpu)]  # type: ignore[no-untyped-call]
        if on_gpu:
            torch.cuda._sleep(AHEAD_CYCLES)  # type: ignore[no-untyped-call]
        for area in self._areas:
            area.fill_(1)
        with torch.no_grad(), torch.profiler.record_function(CALL):
            for event in events[:1]:
                event.record()
            self._model(*self._inputs)
            for event in events[1:]:
                event.record()
        self.synchronize()
        return events[0].elapsed_time(events[1]) if events else 0.0

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def close(self) -> None:
        self._memory.close()


def truth_of(caller: Caller, budget_s: float) -> Truth | None:
    """The median of a call's time by the profiler; None where it saw no call."""
    start = time.monotonic()
    caller()
    calls = max(3, min(TRUTH_CALLS, int(budget_s / 2 / max(time.monotonic() - start, 1e-3))))
    plain_ms = statistics.median(caller() for _ in range(calls))
    kinds = torch.profiler.ProfilerActivity
    activities = [kinds.CPU, kinds.CUDA] if caller.device.type == "cuda" else [kinds.CPU]
    with _without_chatter(), torch.profiler.profile(activities=activities) as profile:
        profiled_ms = statistics.median(caller() for _ in range(calls))
    events = list(profile.events() or ())
    if caller.device.type != "cuda":
        times_ms = [event.cpu_time / 1e3 for event in events if event.name == CALL]
        return Truth(statistics.median(times_ms)) if times_ms else None
    spans = kernel_spans_ms(events)
    if not spans:
        return None
    kernels = round(statistics.median(count for _, count in spans))
    return Truth(statistics.median(span_ms for span_ms, _ in spans), kernels, profiled_ms - plain_ms)


@contextlib.contextmanager
def _without_chatter() -> Iterator[None]:
    """Keep standard error free of the lines that the profiler's library writes there whenever it starts and stops."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def kernel_spans_ms(events: Sequence[Any]) -> list[tuple[float, int]]:
    """Of each call: from the beginning of its first kernel to the end of its last, by the moments at which the host asked for calls; and
    how many kernels these are.

    Kernels of a call come after its flush, or, where there is none, together: the device was waited for before the next.
    """
    asked = sorted(event.time_range.start for event in events if event.name == CALL and event.device_type.name == "CPU")
    on_device = [event for event in events if event.device_type.name == "CUDA" and event.name != CALL]
    kernels = [event for event in on_device if not any(name in event.name for name in BESIDE_KERNELS)]
    spans = []
    for number, begin in enumerate(asked):
        end = asked[number + 1] if number + 1 < len(asked) else float("inf")
        mine = [event.time_range for event in kernels if begin <= event.time_range.start < end]
        if mine:
            spans.append(((max(one.end for one in mine) - min(one.start for one in mine)) / 1e3, len(mine)))
    return spans


def ncu_ms(name: str, protocol: str | None) -> float | str:
    """The sum of a call's kernels by ncu, or why there is none. Caches are emptied by ncu itself; it must leave the clocks alone."""
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    command = [ncu, "--csv", "--clock-control", "none", "--cache-control", "all" if choose(protocol, "cuda").is_cold else "none"]
    command += ["--metrics", "gpu__time_duration.sum", "--nvtx", "--nvtx-include", f"{CALL}/"]
    command += [sys.executable, "-m", "benchmarks.timing", "--under-ncu", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    times_ms = read_ncu(done.stdout)
    return sum(times_ms) if times_ms else (done.stdout + done.stderr).strip()[-500:]


def read_ncu(text: str) -> list[float]:
    """Durations of a call's kernels in ms, of ncu's table."""
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    in_ms = {"ns": 1e-6, "nsecond": 1e-6, "us": 1e-3, "usecond": 1e-3, "ms": 1.0, "msecond": 1.0, "s": 1e3, "second": 1e3}
    rows = csv.DictReader(io.StringIO("\n".join(lines[start:])))
    found = [row for row in rows if row.get("Metric Unit") in in_ms and not any(name in row["Kernel Name"] for name in BESIDE_KERNELS)]
    return [float(row["Metric Value"].replace(",", "")) * in_ms[row["Metric Unit"]] for row in found]


def call_under_ncu(name: str) -> None:
    """Call a rung's submission three times to warm up, and then once in a range that ncu looks for."""
    rung = next(each for each in ladder("cuda") if each.name == name)
    with tempfile.TemporaryDirectory() as folder:
        caller = Caller(rung, Path(folder), torch.device("cuda:0"), is_cold=False)
        for _ in range(3):
            caller()
        torch.cuda.nvtx.range_push(CALL)  # type: ignore[no-untyped-call]
        caller()
        torch.cuda.nvtx.range_pop()  # type: ignore[no-untyped-call]
        caller.close()


def climb(options: argparse.Namespace, rungs: Sequence[Rung]) -> list[Climbed]:
    """Measure as much as the budget is enough for: truth first, then evaluations by turns."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name, bench_of(options.device) as bench:
        folder = Path(name)
        benches = [replace(bench, cores=cores) for cores in options.cores or [bench.cores]]
        ways = [(rung, each, Climbed(rung.name, each.cores)) for rung in rungs for each in benches]
        climbed = [one for _, _, one in ways]
        is_cold = choose(options.protocol, bench.device.kind).is_cold
        for rung, _, one in ways:
            caller = Caller(rung, folder, torch.device(bench.device.torch_device), is_cold)
            one.truth = truth_of(caller, TRUTH_SHARE * options.budget / len(ways))
            caller.close()
            if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
                torch.cuda.empty_cache()
        for _ in range(options.repetitions):
            for rung, each, one in ways:
                if time.monotonic() - start >= options.budget and one.speedups:
                    return climbed
                one.note(judge(each, rung, folder, options.protocol))
    return climbed


def table_of(climbed: Sequence[Climbed]) -> Table:
    """A line for each rung."""
    columns = ("kernel", "cores", "time ms", "evaluations", "speedup", "spread of 95 %", "interval", "samples", "precise", "charged")
    table = Table(*columns, "truth ms", "ncu ms", "bias", "beside a call, ms", "failed")
    for one in climbed:
        mark = {True: " ✓", False: " ✗", None: ""}
        bias = "" if one.bias_ms is None or not one.truth_ms else f"{one.bias_ms * 1e3:+.2f} µs, {one.bias_ms / one.truth_ms:+.1%}"
        table.add_row(
            one.rung,
            cores_text(one.cores),
            _figure(one.time_ms),
            str(len(one.speedups)),
            _figure(statistics.median(one.speedups) if one.speedups else None),
            "" if one.spread is None else f"±{one.spread:.2%}{mark[one.reaches]}",
            f"{statistics.median(one.widths):.2%}" if one.widths else "",
            f"{statistics.median(one.samples):.0f}" if one.samples else "",
            f"{one.stops.count('precise')}/{len(one.stops)}",
            f"{sum(late_ms > 0 for late_ms in one.late_ms)}/{len(one.late_ms)}",
            _figure(one.truth_ms),
            _figure(one.ncu_ms),
            bias + mark[one.is_true],
            _figure(statistics.median(one.overheads_ms) if one.overheads_ms else None),
            f"{len(one.failures)}: {one.failures[0]}" if one.failures else "",
        )
    return table


def _core_lists(text: str) -> list[tuple[int, ...]]:
    return [() if part == "none" else read_cores(part) for part in text.split("/")]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and write everything where that is asked for."""
    parser = argparse.ArgumentParser(description="How far times can be trusted, on a ladder of honest kernels.")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--protocol")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--budget", type=float, default=900.0, metavar="S", help="seconds, but every kernel is judged once")
    parser.add_argument("--rungs", help="only those whose names begin like one of these, with commas between them")
    parser.add_argument("--ncu", metavar="NAME", help="the rung to be measured by ncu too, as in 'elementwise 16777216'")
    parser.add_argument("--cores", type=_core_lists, metavar="LIST/…", help="on a processor: lists of cores as in 0-3, or none, to compare")
    parser.add_argument("--under-ncu", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.under_ncu:
        call_under_ncu(options.under_ncu)
        return 0
    kind = "cpu" if options.device == "cpu" else "cuda"
    wanted = tuple(options.rungs.split(",")) if options.rungs else ("",)
    rungs = [rung for rung in ladder(kind) if rung.name.startswith(wanted)]
    climbed = climb(options, rungs)
    console = Console(width=220)
    for one in climbed:
        if options.ncu == one.rung:
            found = ncu_ms(options.ncu, options.protocol)
            one.ncu_ms = found if isinstance(found, float) else None
            if isinstance(found, str):
                console.print(f"ncu: {found}", markup=False)
    console.print(table_of(climbed))
    if options.json:
        report = {"device": options.device, "protocol": choose(options.protocol, kind).name, "evaluator": EVALUATOR_VERSION}
        report |= {"budget_s": options.budget, "rungs": [one.record() for one in climbed]}
        options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

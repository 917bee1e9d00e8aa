"""What a judge works with, the same for all of its evaluations; and one evaluation's task."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from evaluator.build.builder import Builder
from evaluator.job import Job
from evaluator.judge.stage_times import StageTimes
from evaluator.machine.devices import Device
from evaluator.problem.problem import Problem, ProblemCase
from evaluator.results.calibration import Calibration
from evaluator.results.result import Environment
from evaluator.sandbox import Limits, Zygote
from evaluator.sanitizer.tools import Sanitizer

ReportStage = Callable[[str], None]
"""Is called with the name of each stage that begins."""


@dataclass(frozen=True)
class JudgeContext:
    """The same for all evaluations of one judge."""

    device: Device
    stands_in: bool
    """There is no GPU, and the CPU stands in for it: only builds and C++ submissions are judged."""
    zygote: Zygote
    builder: Builder
    environment: Environment
    recorder: str | None
    """The library that records launches, preloaded into every worker; None on the CPU."""
    readonly: tuple[str, ...] = ()
    """Folders that workers need to see besides the system's and Python's."""
    limits: Limits = field(default_factory=Limits)
    cores: tuple[int, ...] = ()
    """On the CPU: cores that workers are kept to, and the judge while it times; empty on a GPU."""
    calibration: Calibration | None = None
    """Of the device, under this driver and this PyTorch; None where it is not calibrated."""
    sanitizer: Sanitizer | None = None
    """None where compute-sanitizer was not asked for."""
    warmed: set[str] = field(default_factory=set)
    """Problems, by their hashes, whose kernels the judge's process has loaded."""
    kept_workers: dict[str, Any] = field(default_factory=dict)
    """What the next evaluation may take (evaluator.judge.workers.kept_workers)."""


@dataclass(frozen=True)
class Task:
    """One job in its judge's context, with its problem loaded."""

    context: JudgeContext
    job: Job
    problem: Problem
    case: ProblemCase
    report: ReportStage
    times: StageTimes = field(default_factory=StageTimes)

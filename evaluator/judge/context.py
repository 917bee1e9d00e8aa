"""The context of a judge, shared by all of its evaluations; and the task of one evaluation."""

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

ReportStage = Callable[[str], None]
"""Is called with the name of each stage that begins."""


@dataclass(frozen=True)
class JudgeContext:
    """Data shared by all evaluations of one judge."""

    device: Device
    stands_in: bool
    """Whether the CPU stands in for a missing GPU: only builds, C++ submissions and interpreted Triton kernels are judged."""
    zygote: Zygote
    builder: Builder
    environment: Environment
    recorder: str | None
    """The library that records launches, preloaded into every worker; None on the CPU."""
    readonly: tuple[str, ...] = ()
    """Folders that workers need besides the system's and Python's."""
    limits: Limits = field(default_factory=Limits)
    cores: tuple[int, ...] = ()
    """On the CPU: cores that workers are pinned to, and the judge while it times; empty on a GPU."""
    calibration: Calibration | None = None
    """Calibration of the device, under this driver and PyTorch; None if it is not calibrated."""
    sanitizer: object | None = None
    """The `Sanitizer` of `evaluator.sanitizer`, which the core does not import; None if it was not requested."""
    warmed: set[str] = field(default_factory=set)
    """Hashes of problems whose kernels the judge's process has loaded."""
    kept_workers: dict[str, Any] = field(default_factory=dict)
    """Workers for the next evaluation (evaluator.judge.workers.kept_workers)."""


@dataclass(frozen=True)
class Task:
    """One job in its judge's context, with its problem loaded."""

    context: JudgeContext
    job: Job
    problem: Problem
    case: ProblemCase
    report: ReportStage
    workloads: tuple[ProblemCase, ...] = ()
    """All workloads, if all are timed: first the case's own, under its own name; else empty."""
    times: StageTimes = field(default_factory=StageTimes)

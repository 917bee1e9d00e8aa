"""What a judge works with, and what it is asked to do."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from evaluator.build.builder import Builder
from evaluator.machine.devices import Device
from evaluator.problem.declaration import PrecisionName
from evaluator.problem.problem import Problem, ProblemCase
from evaluator.results.calibration import Calibration
from evaluator.results.result import Environment
from evaluator.sandbox import Limits, Zygote
from evaluator.sanitizer.tools import Sanitizer

Report = Callable[[str], None]
"""Is told of each stage."""


@dataclass(frozen=True)
class Job:
    """One submission to be judged once; travels from the engine to a judge."""

    submission: str
    block: int | None
    author: str | None
    sample_id: int | None
    code: str
    source_sha256: str
    problem: str
    problem_path: Path
    case: str | None
    """None for the device's default."""
    note: str
    """What a reader of the result should know about how the submission was read."""
    timeout_s: float
    """Deadline of each stage that runs the submission's forward()."""
    precision: PrecisionName | None = None
    """None for the problem's own."""
    shapes: Literal["own", "others", "strict"] = "own"
    """Whether a right submission is asked in other shapes too, and whether it has to be right in them."""
    first_line: int = 1
    """Line, from 1, of the file handed in on which `code` begins."""
    protocol: str | None = None
    """How it is timed (evaluator.judge.timing.protocols); None for the device's default."""
    baselines: tuple[str, ...] = ("eager",)
    """What it is timed beside: `eager`, the reference as it stands, which the speedup is over, and perhaps `compile`, by torch.compile."""


@dataclass(frozen=True)
class JudgeContext:
    """The same for all evaluations of one judge."""

    device: Device
    stands_in: bool
    """The CPU stands in for a GPU that is not there: only builds and C++ submissions are judged."""
    zygote: Zygote
    builder: Builder
    environment: Environment
    recorder: str | None
    """The library that records launches, preloaded into every worker; None on the CPU."""
    readonly: tuple[str, ...] = ()
    """Folders that workers need to see besides the system's and Python's."""
    limits: Limits = field(default_factory=Limits)
    cores: tuple[int, ...] = ()
    """Those that workers are kept to, and the judge while it times, where the device is the processor; none on a GPU."""
    calibration: Calibration | None = None
    """Of the device, under this driver and this PyTorch; None where there is none."""
    sanitizer: Sanitizer | None = None
    """None where compute-sanitizer was not asked for."""
    warmed: set[str] = field(default_factory=set)
    """Problems, by their hashes, whose kernels the judge's process has loaded."""


@dataclass(frozen=True)
class Task:
    """One job on its bench, with its problem loaded."""

    bench: JudgeContext
    job: Job
    problem: Problem
    case: ProblemCase
    report: Report

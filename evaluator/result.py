"""What one evaluation produces: the Result, with the evidence that it rests on (evaluator.evidence).

Every figure carries its unit in its name. Everything here is plain data that goes through JSON unchanged.
"""

from datetime import UTC, datetime
from typing import Any, Self

from pydantic import Field, model_validator

from evaluator.category import CATEGORIES, Category, Status
from evaluator.evidence import (
    DISTURBED_SHARE,
    AblationEvidence,
    BuildAttempt,
    BuildEvidence,
    ConditionsEvidence,
    DeviceState,
    Diagnostic,
    ErrorFigures,
    ErrorMap,
    Evidence,
    ExceptionEvidence,
    ExitEvidence,
    FaultEvidence,
    FloorEvidence,
    KernelLimits,
    KernelTimes,
    LaunchRecord,
    LightEvidence,
    Record,
    RoundEvidence,
    SanitizerEvidence,
    SanitizerFinding,
    SanitizerPlace,
    SanitizerRun,
    StarvingEvidence,
    TimingEvidence,
    TimingSide,
    WrongElement,
    WrongTimedAnswer,
)

__all__ = [
    "DISTURBED_SHARE",
    "EVALUATOR_VERSION",
    "OWN_PRECISION",
    "AblationEvidence",
    "BuildAttempt",
    "BuildEvidence",
    "ConditionsEvidence",
    "DeviceState",
    "Diagnostic",
    "Environment",
    "ErrorFigures",
    "ErrorMap",
    "Evidence",
    "ExceptionEvidence",
    "ExitEvidence",
    "FaultEvidence",
    "FloorEvidence",
    "KernelLimits",
    "KernelTimes",
    "LaunchRecord",
    "LightEvidence",
    "Record",
    "Result",
    "RoundEvidence",
    "SanitizerEvidence",
    "SanitizerFinding",
    "SanitizerPlace",
    "SanitizerRun",
    "StarvingEvidence",
    "TimingEvidence",
    "TimingSide",
    "WrongElement",
    "WrongTimedAnswer",
    "now",
]

EVALUATOR_VERSION = "0.7.0"
"""Part of what makes two evaluations the same: raised whenever a verdict could change."""
OWN_PRECISION = "own"
"""The precision of a problem that declares none: whatever its file makes."""


class Environment(Record):
    """The machine and software that an evaluation ran on."""

    device_kind: str
    """cuda or cpu."""
    device_name: str
    gpu_driver: str | None = None
    cuda: str | None = None
    compute_capability: str | None = None
    torch: str
    python: str
    nvcc: str | None = None
    cxx: str | None = None
    cpu: str
    cpu_count: int
    platform: str
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings that a figure depends on: TF32, cuDNN benchmark, threads."""


class Result(Record):
    """The verdict on one submission."""

    submission: str
    block: int | None = None
    """Number, from 1, of the ModelNew block in its response; None for a plain Python file."""
    author: str | None = None
    sample_id: int | None = None
    problem: str | None = None
    case: str | None = None
    precision: str | None = None
    """The dtype that the problem was judged in, or `own` where that is as its file makes it; None where it came to nothing."""
    device: str | None = None
    """cpu, cuda:0, …"""
    status: Status
    category: Category
    message: str
    hint: str = ""
    runtime_ms: float | None = None
    baseline_ms: float | None = None
    speedup: float | None = None
    """baseline_ms / runtime_ms."""
    source_sha256: str
    problem_sha256: str | None = None
    started_at: datetime
    duration_s: float
    evaluator_version: str = EVALUATOR_VERSION
    evidence: Evidence = Evidence()
    environment: Environment | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if CATEGORIES[self.category].status is not self.status:
            raise ValueError(f"category {self.category} belongs to status {CATEGORIES[self.category].status}, not {self.status}")
        timed = (self.runtime_ms, self.baseline_ms, self.speedup)
        if any(value is not None for value in timed) and self.status is not Status.CORRECT:
            raise ValueError(f"a {self.status} result has no times")
        if len({value is None for value in timed}) > 1:
            raise ValueError("runtime_ms, baseline_ms and speedup come together or not at all")
        if self.category is Category.OK and self.runtime_ms is None:
            raise ValueError("an ok result needs its times")
        return self

    @property
    def speed_of_light(self) -> float | None:
        """The share of the speed of light that the submission has; None where it is not known."""
        light = self.evidence.light
        return light.share(self.runtime_ms) if light and self.runtime_ms else None

    @property
    def baseline_speed_of_light(self) -> float | None:
        """The same of the baseline."""
        light = self.evidence.light
        return light.share(self.baseline_ms) if light and self.baseline_ms else None

    def summary(self) -> dict[str, Any]:
        """The fields of one line of `--json`: everything but evidence and environment, and what follows from the evidence."""
        fields: dict[str, Any] = self.model_dump(mode="json", exclude={"evidence", "environment"})
        conditions = self.evidence.conditions
        return fields | self.shares_of_light() | {"disturbed": conditions.remark if conditions else ""}

    def shares_of_light(self) -> dict[str, float | None]:
        """Both shares of the speed of light, under the names that JSON has for them."""
        return {"speed_of_light": self.speed_of_light, "baseline_speed_of_light": self.baseline_speed_of_light}


def now() -> datetime:
    """The current time, in UTC, to the millisecond."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)

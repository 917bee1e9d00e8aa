"""The result of one evaluation, with its evidence (evaluator.results.evidence).

Every figure has its unit in its name. All types are plain data, and JSON keeps them unchanged.
"""

from datetime import UTC, datetime
from html import escape
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from evaluator.results.category import CATEGORIES, Category, Status
from evaluator.results.evidence import Evidence, Record
from evaluator.results.score import overall_interval

EVALUATOR_VERSION = "0.21.3"
"""Part of an evaluation's identity: raised whenever a verdict could change."""
OWN_PRECISION = "own"
"""The precision of a problem that declares none: the dtypes that its file uses."""

ALL_CASES = "all"
"""The case name for all workloads of a problem."""


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


class BaselineTime(Record):
    """The time of one kind of baseline, and the speedup over it."""

    runtime_ms: float
    speedup: float


class Derived(Record):
    """Figures derived from the evidence of a result."""

    speed_of_light: float | None
    baseline_speed_of_light: float | None
    speedup_interval: tuple[float, float] | None
    baselines: dict[str, BaselineTime]
    best_baseline: str | None
    generalises: Literal["yes", "no", "untested"]
    robust: Literal["yes", "no", "untested"]


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
    """The dtype that the problem was judged in, or `own` for that of its file; None if judging did not get so far."""
    protocol: str | None = None
    """Its timing protocol (evaluator.results.protocol_names), or the requested one if not timed; None for the device's default."""
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

    @classmethod
    def of_category(cls, category: Category, message: str, **fields: Any) -> Self:
        """A result with its category's status and hint. Unless `fields` say otherwise, it starts now and lasts 0 s."""
        defaults: dict[str, Any] = {"hint": CATEGORIES[category].hint, "started_at": now(), "duration_s": 0.0}
        return cls(status=category.status, category=category, message=message, **defaults | fields)

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
        if self.category is Category.UNTIMED and self.runtime_ms is not None:
            raise ValueError("an untimed result has no times")
        return self

    def __repr__(self) -> str:
        """One line: submission, verdict and speedup."""
        speedup = "" if self.speedup is None else f", {self.speedup:.2f}×"
        return f"<Result {self.submission!r}: {self.status}/{self.category}{speedup}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """A table for notebooks, of the figures that are known."""
        rows = {"submission": self.submission, "problem": self.problem, "device": self.device, "verdict": f"{self.status}/{self.category}"}
        if self.speedup is not None:
            rows |= {"time": f"{self.runtime_ms:.4g} ms", "baseline": f"{self.baseline_ms:.4g} ms", "speedup": f"{self.speedup:.2f}×"}
        rows |= {"message": self.message, "hint": self.hint}
        cells = "".join(f"<tr><th>{name}</th><td>{escape(value)}</td></tr>" for name, value in rows.items() if value)
        return f"<table>{cells}</table>"

    @property
    def speedup_interval(self) -> tuple[float, float] | None:
        """95 % confidence interval of the speedup; None without a speedup, and in older records."""
        timing = self.evidence.timing
        return overall_interval(timing, self.speedup) if self.speedup is not None and timing is not None else None

    @property
    def baselines(self) -> dict[str, tuple[float, float]]:
        """Each baseline's time in ms and the speedup over it, by kind; `speedup` is the one over `eager`."""
        if self.runtime_ms is None or self.baseline_ms is None or self.speedup is None:
            return {}
        timing, runtime_ms = self.evidence.timing, self.runtime_ms
        # The others are timed in one case only, so they don't count with several workloads.
        sides = timing.others if timing and not timing.workloads else {}
        others = {kind: side.figure_ms(timing.of_baselines) for kind, side in sides.items()} if timing else {}
        return {"eager": (self.baseline_ms, self.speedup)} | {kind: (time_ms, time_ms / runtime_ms) for kind, time_ms in others.items()}

    @property
    def best_baseline(self) -> str | None:
        """The kind of the fastest baseline; None without a time."""
        times_ms = {kind: time_ms for kind, (time_ms, _) in self.baselines.items()}
        return min(times_ms, key=lambda kind: times_ms[kind]) if times_ms else None

    @property
    def speed_of_light(self) -> float | None:
        """The submission's share of the speed of light; with several workloads, that of `full`; None if unknown."""
        light, timing = self.evidence.light, self.evidence.timing
        return light.share(timing.runtime_ms if timing and timing.workloads else self.runtime_ms) if light and self.runtime_ms else None

    @property
    def baseline_speed_of_light(self) -> float | None:
        """The baseline's share of the speed of light, likewise."""
        light, timing = self.evidence.light, self.evidence.timing
        return light.share(timing.baseline_ms if timing and timing.workloads else self.baseline_ms) if light and self.baseline_ms else None

    def summary(self) -> dict[str, Any]:
        """The fields of one line of `--json`: all but evidence and environment, and the figures derived from the evidence."""
        fields: dict[str, Any] = self.model_dump(mode="json", exclude={"evidence", "environment"})
        conditions = self.evidence.conditions
        return fields | self.derived() | {"disturbed": conditions.remark if conditions else ""}

    def derived(self) -> dict[str, Any]:
        """The figures derived from the evidence, by their JSON names: the fields of `Derived`."""
        derived = Derived(
            **self.shares_of_light(),
            speedup_interval=self.speedup_interval,
            baselines={kind: BaselineTime(runtime_ms=time_ms, speedup=speedup) for kind, (time_ms, speedup) in self.baselines.items()},
            best_baseline=self.best_baseline,
            generalises=self.evidence.generalises,
            robust=self.evidence.robust,
        )
        return derived.model_dump()

    def shares_of_light(self) -> dict[str, float | None]:
        """Both shares of the speed of light, by their JSON names."""
        return {"speed_of_light": self.speed_of_light, "baseline_speed_of_light": self.baseline_speed_of_light}


def now() -> datetime:
    """The current time, in UTC, to the millisecond."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)

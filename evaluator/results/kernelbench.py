"""Results in the form of KernelBench's `KernelExecResult`, as its training loops and scripts read them."""

import statistics
from typing import Any

from pydantic import BaseModel, Field

from evaluator.results.category import Category, Status
from evaluator.results.evidence import TimingSide
from evaluator.results.result import Result

UNTIMED_MS = -1.0
"""The time of a result without one."""
_NOT_LOADED = (Status.BUILD_FAILED, Status.REJECTED)
_ERRORS = {
    Status.BUILD_FAILED: "compilation_error",
    Status.REJECTED: "compilation_error",
    Status.RUN_FAILED: "runtime_error",
    Status.INCORRECT: "correctness_issue",
    Status.DISQUALIFIED: "correctness_issue",
}
"""The key of a failure's message in `metadata`, by status."""


class KernelExecResult(BaseModel):
    """KernelBench's result, field by field. Times are in ms, and -1 if not taken."""

    compiled: bool = False
    """Whether it was built and imported."""
    correctness: bool = False
    """Whether the status is `correct`."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """Assay's `status`, `category`, `message` and `hint`; KernelBench's `hardware`, `device`, `correctness_trials`, and
    `compilation_error`, `runtime_error` or `correctness_issue`, each with its `…_name`."""
    runtime: float = UNTIMED_MS
    runtime_stats: dict[str, Any] = Field(default_factory=dict)
    """`mean` is `runtime`, the time that counts. `std`, `min`, `max` and `num_trials` are those of the measured calls."""
    ref_runtime: float = UNTIMED_MS
    """The time of the reference."""
    ref_runtime_stats: dict[str, Any] = Field(default_factory=dict)


def executed(result: Result) -> KernelExecResult:
    """The result in KernelBench's form."""
    told = KernelExecResult(
        compiled=result.status not in _NOT_LOADED and result.category is not Category.IMPORT_ERROR,
        correctness=result.status is Status.CORRECT,
        metadata=_metadata(result),
    )
    if result.runtime_ms is not None and result.baseline_ms is not None:
        timing = result.evidence.timing
        told.runtime, told.ref_runtime = result.runtime_ms, result.baseline_ms
        told.runtime_stats = _stats(result, result.runtime_ms, timing.candidate if timing else None)
        told.ref_runtime_stats = _stats(result, result.baseline_ms, timing.counted_baseline if timing else None)
    return told


def _metadata(result: Result) -> dict[str, Any]:
    told: dict[str, Any] = _machine(result)
    told |= {"status": result.status.value, "category": result.category.value, "message": result.message, "hint": result.hint}
    key = "compilation_error" if result.category is Category.IMPORT_ERROR else _ERRORS.get(result.status)
    if key is not None:
        exception = result.evidence.exception
        told |= {key: result.message, f"{key}_name": exception.type if exception else result.category.value}
    if rounds := result.evidence.rounds:
        told["correctness_trials"] = f"({sum(each.passed for each in rounds)} / {len(rounds)})"
    return told


def _stats(result: Result, time_ms: float, side: TimingSide | None) -> dict[str, Any]:
    samples = side.samples_ms if side else ()
    if not samples:
        return {"mean": time_ms, **_machine(result)}
    spread = {"std": statistics.pstdev(samples), "min": min(samples), "max": max(samples), "num_trials": len(samples)}
    return {"mean": time_ms, **spread, **_machine(result)}


def _machine(result: Result) -> dict[str, Any]:
    return {"hardware": result.environment.device_name if result.environment else "", "device": result.device or ""}

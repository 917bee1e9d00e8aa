"""Short evidence for tests of rules: parts of it, and a check of the rules' verdict."""

from typing import Any

from evaluator.diagnosis import diagnose
from evaluator.diagnosis.verdict import advice_on
from evaluator.results.category import CATEGORIES, Category
from evaluator.results.evidence import (
    AblationEvidence,
    BuildEvidence,
    Diagnostic,
    Evidence,
    ExceptionEvidence,
    FloorEvidence,
    LaunchRecord,
    RoundEvidence,
    TimingEvidence,
    TimingSide,
    WrongTimedAnswer,
)

Rule = tuple[dict[str, Any], Category, str]
"""Evidence by field, the category that it deserves, and words of the message."""


def launch(block: tuple[int, int, int] = (256, 1, 1), **changes: Any) -> LaunchRecord:
    fields: dict[str, Any] = {"api": "cudaLaunchKernel", "kernel": "k(float*)", "object": "extension", "own": True, "count": 1}
    fields |= {"grid": (4, 1, 1), "block": block, "shared_bytes": 0, "code": 0, "first": 0}
    return LaunchRecord(**fields | changes)


def exception(type: str = "RuntimeError", message: str = "no", stage: str = "rounds", **more: Any) -> ExceptionEvidence:  # noqa: A002
    return ExceptionEvidence(stage=stage, type=type, message=message, **more)


def build(category: Category | None = None, output: str = "", *diagnostics: Diagnostic) -> BuildEvidence:
    return BuildEvidence(name="x", key="k", ok=category is None, category=category, output=output, diagnostics=diagnostics)


def passed(index: int) -> RoundEvidence:
    return RoundEvidence(index=index, seed=1, passed=True)


def failed(category: Category, index: int = 0) -> RoundEvidence:
    return RoundEvidence(index=index, seed=1, passed=False, category=category, message="so")


def timing(median_ms: float = 1.0, *, on_gpu: bool = True, late_ms: float = 0.0, unclaimed_ms: float = 0.0) -> TimingEvidence:
    """The baseline's answers arrive in 0.5 ms, and the candidate's `late_ms` later."""
    reveals_ms = ([0.5 + late_ms] * 4, [0.5] * 4)
    sides = [
        TimingSide(
            median_ms=median_ms,
            lower_quartile_ms=median_ms,
            upper_quartile_ms=median_ms,
            samples_ms=(median_ms,) * 3,
            reveal_ms=tuple(reveal_ms),
        )
        for reveal_ms in reveals_ms
    ]
    return TimingEvidence(
        clock="cuda_event" if on_gpu else "judge_wall",
        calls=3,
        candidate=sides[0],
        baseline=sides[1],
        alone=sides[1],
        unclaimed_ms=unclaimed_ms,
        deferred_ms=late_ms,
    )


def witnessed(bursts_ms: tuple[float, ...], unflushed_bursts: int) -> TimingEvidence:
    """With so many bursts that count, and so many that don't for want of a flush."""
    made = timing()
    candidate = made.candidate.model_copy(update={"burst_ms": bursts_ms})
    return made.model_copy(update={"candidate": candidate, "unflushed_bursts": unflushed_bursts})


def floor(floor_ms: float, declared: bool = True, operations: float = 0.0) -> FloorEvidence:
    """The floor on a device that moves 4 TB and computes 800 TFLOP in a second."""
    sizes = {"read_bytes": 0, "written_bytes": 6_000_000_000, "l2_bytes": 1_000_000_000, "moved_bytes": 5_000_000_000}
    rates = {"operations": operations, "bytes_per_s": 4e12, "operations_per_s": 8e14, "margin": 1.3}
    return FloorEvidence.model_validate({**sizes, **rates, "floor_ms": floor_ms, "declared": declared})


NEEDED = AblationEvidence(still_right=False, category=Category.WRONG_VALUES, message="so")
NOT_NEEDED = AblationEvidence(still_right=True)
WRONG = WrongTimedAnswer(call=7, message="so")
ROUNDS = (passed(0), passed(1))
REFUSED = launch((4096, 1, 1), code=1)
ERROR = Diagnostic(file="cuda.cu", line=12, severity="error", message='identifier "foo" is undefined')
UNDECLARED = build(Category.UNDECLARED_IDENTIFIER, "cuda.cu(12): error\n", ERROR)
TO_EXTENSION = exception(message="Error building extension 'x': no", stage="load")

GPU: dict[str, Any] = {"rounds": ROUNDS, "timing": timing(), "builds": (build(),)}
KERNEL: dict[str, Any] = {**GPU, "launches": (launch(),)}
"""A right answer on a GPU, by a kernel of its own."""
CPU: dict[str, Any] = {"rounds": ROUNDS, "timing": timing(on_gpu=False), "builds": (build(),)}


def check(rule: Rule) -> None:
    """The evidence gives just this verdict."""
    evidence, category, words = rule
    verdict = diagnose(Evidence(**evidence))
    assert (verdict.category, words in verdict.message) == (category, True), verdict.message
    assert verdict.hint in (CATEGORIES[category].hint, advice_on(verdict.message))
    assert (verdict.message == "") == (category is Category.OK)

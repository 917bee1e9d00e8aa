"""Exceptions, and ends of the worker's process, before an answer."""

from evaluator.results.evidence.record import Record


class ExceptionEvidence(Record):
    """An exception as the worker reported it: a claim, good for blame and never for praise."""

    stage: str
    type: str
    message: str
    traceback: str = ""
    """Frames of the submission only."""
    line: int | None = None
    """Line of what was handed in."""
    cuda_error: int | None = None
    """Sticky error of the worker's CUDA context (cudaError_t), where it has one."""


class ExitEvidence(Record):
    """How the worker's process ended, as its supervisor saw it."""

    stage: str
    code: int | None = None
    signal: str | None = None
    deadline_s: float | None = None
    """Set where the judge killed it for passing this deadline."""
    memory_limit_bytes: int | None = None
    """Set where it was killed for passing this limit."""
    disk_limit_bytes: int | None = None
    """Set where it was killed because its private directory passed this limit."""

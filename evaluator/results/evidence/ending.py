"""Exceptions, and ends of the worker's process, before an output."""

from evaluator.results.evidence.record import Record


class ExceptionEvidence(Record):
    """An exception, as the worker reported it: a claim, which can only lower its result."""

    stage: str
    type: str
    message: str
    traceback: str = ""
    """Only the submission's frames."""
    line: int | None = None
    """Line of the submission."""
    cuda_error: int | None = None
    """Sticky error of the worker's CUDA context (cudaError_t), if any."""


class ExitEvidence(Record):
    """How the worker's process ended, as observed by its supervisor."""

    stage: str
    code: int | None = None
    signal: str | None = None
    deadline_s: float | None = None
    """Set if the judge killed it after this timeout."""
    memory_limit_bytes: int | None = None
    """Set if it was killed for exceeding this limit."""
    disk_limit_bytes: int | None = None
    """Set if it was killed because its private directory exceeded this limit."""

"""Findings of compute-sanitizer."""

from evaluator.results.evidence.record import Record


class SanitizerPlace(Record):
    """Another place that a finding concerns."""

    role: str
    """Its relation to the finding, as in `Read access` or `called here`."""
    kernel: str = ""
    file: str = ""
    line: int | None = None
    source_line: int | None = None
    """Line of the submission."""
    excerpt: str = ""


class SanitizerFinding(Record):
    """Equal reports of compute-sanitizer on one place. It works inside the worker's process: a claim, not a verdict."""

    tool: str
    """memcheck, racecheck, initcheck or synccheck."""
    severity: str
    """error or warning."""
    message: str
    """First line of the report, as in `Invalid __global__ write of size 4 bytes`."""
    count: int
    kernel: str = ""
    """Demangled; empty if none is named."""
    own: bool = False
    """Whether it is in the submission's own sources."""
    file: str = ""
    """File name without its folder."""
    line: int | None = None
    """Line of that file, which the submission's build may have written."""
    source_line: int | None = None
    """Line of the submission."""
    excerpt: str = ""
    """Source text of the line."""
    detail: str = ""
    """Thread, CUDA block and address of the first of these reports."""
    others: tuple[SanitizerPlace, ...] = ()


class SanitizerRun(Record):
    """One tool of compute-sanitizer, run on the submission."""

    tool: str
    outcome: str
    """ended, deadline (its findings so far count) or failed."""
    reports: int | None = None
    """Number in its summary; None without a summary."""
    duration_s: float = 0.0
    """Without builds."""
    remark: str = ""
    """Why the tool did not finish, or the submission gave no output."""


class SanitizerEvidence(Record):
    """Findings of compute-sanitizer on the submission, on request (evaluator.sanitizer.runs)."""

    version: str
    case: str
    """The case that it ran, which may differ from the evaluation's."""
    runs: tuple[SanitizerRun, ...] = ()
    findings: tuple[SanitizerFinding, ...] = ()

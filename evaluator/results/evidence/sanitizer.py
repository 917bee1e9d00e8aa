"""What compute-sanitizer said."""

from evaluator.results.evidence.record import Record


class SanitizerPlace(Record):
    """Another place that a finding is about."""

    role: str
    """What it has to do with the finding, as in `Read access` or `called here`."""
    kernel: str = ""
    file: str = ""
    line: int | None = None
    source_line: int | None = None
    """Line of what was handed in."""
    excerpt: str = ""


class SanitizerFinding(Record):
    """Reports of compute-sanitizer that say the same of the same place. It works inside the worker's process: a claim, and no verdict."""

    tool: str
    """memcheck, racecheck, initcheck or synccheck."""
    severity: str
    """error or warning."""
    message: str
    """Its first line, as in `Invalid __global__ write of size 4 bytes`."""
    count: int
    kernel: str = ""
    """Demangled; empty where none is named."""
    own: bool = False
    """Whether that is in sources of the submission's own."""
    file: str = ""
    """Without its folder."""
    line: int | None = None
    """Of that file, which a build of the submission's may have written."""
    source_line: int | None = None
    """Line of what was handed in."""
    excerpt: str = ""
    """That line."""
    detail: str = ""
    """Thread, block and address of the first of these reports."""
    others: tuple[SanitizerPlace, ...] = ()


class SanitizerRun(Record):
    """One tool of compute-sanitizer over the submission."""

    tool: str
    outcome: str
    """ended, deadline (what it had found until then counts) or failed."""
    reports: int | None = None
    """By its own summary; None where it did not come to one."""
    duration_s: float = 0.0
    """Builds aside."""
    remark: str = ""
    """What kept it from the end, or the submission from its answer."""


class SanitizerEvidence(Record):
    """What compute-sanitizer said of the submission, on request (evaluator.judge.sanitizer_runs)."""

    version: str
    case: str
    """The set of shapes that it ran on, which need not be the evaluation's."""
    runs: tuple[SanitizerRun, ...] = ()
    findings: tuple[SanitizerFinding, ...] = ()

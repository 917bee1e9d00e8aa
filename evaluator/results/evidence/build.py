"""Builds that the worker requested, and the compilers' messages."""

from evaluator.results.category import Category
from evaluator.results.evidence.record import Record


class Diagnostic(Record):
    """One message of a compiler or linker."""

    file: str
    line: int | None = None
    column: int | None = None
    severity: str
    """error, fatal error, warning, or info (ptxas on a kernel)."""
    message: str
    asked_file: str | None = None
    """If `file` is another's header or a template: the build's own file that includes or instantiates it."""
    asked_line: int | None = None
    source_line: int | None = None
    """Line of the submission that this comes from."""
    excerpt: str = ""
    """Text of that line, and on a second line a caret under the column, if known."""
    foreign: bool = False
    """Whether `file` is not one of the build's own, and no own file is known to have led there."""


class BuildAttempt(Record):
    """One command of a build."""

    output: str
    """File that it should make."""
    way: str
    """`stock`, or the faster way, such as `lean+passes`. A failure of a faster way proves nothing, unless a proof is named that `stock`
    fails too, as in `lean+passes, proof: undeclared name`."""
    ok: bool
    duration_s: float


class BuildEvidence(Record):
    """One build that a worker requested."""

    name: str
    """The extension's name, as the submission gave it."""
    key: str
    """Content hash of sources, flags and toolchain."""
    ok: bool
    category: Category | None = None
    """Why it failed; None on success."""
    cached: bool = False
    uses_cuda: bool = False
    duration_s: float = 0.0
    output: str = ""
    """Output of all compilers, capped."""
    diagnostics: tuple[Diagnostic, ...] = ()
    attempts: tuple[BuildAttempt, ...] = ()
    """Commands of the build, in the order in which they ended; of a cached build, those of the original one."""

"""Builds that the worker asked for, and what the compilers said."""

from evaluator.results.category import Category
from evaluator.results.evidence.record import Record


class Diagnostic(Record):
    """One message of a compiler or linker."""

    file: str
    line: int | None = None
    column: int | None = None
    severity: str
    """error, fatal error, warning, or info (what ptxas tells of a kernel)."""
    message: str
    asked_file: str | None = None
    """The file of the build's own that led there, where `file` is a header of others or a template: by its instantiation or include."""
    asked_line: int | None = None
    source_line: int | None = None
    """Line of what was handed in that this comes from."""
    excerpt: str = ""
    """That line, and on a second one a caret under the column where it is known."""
    foreign: bool = False
    """Whether it is about a line of a file that is none of the build's own, and nothing of the build's own is known to have led there."""


class BuildAttempt(Record):
    """One command of a build."""

    output: str
    """File that it was to make."""
    way: str
    """`stock`, or what was done to be faster, as in `lean+passes`. An attempt of that kind says nothing when it fails, unless it tells what
    proves that the stock way fails too, as in `lean+passes, proof: undeclared name`."""
    ok: bool
    duration_s: float


class BuildEvidence(Record):
    """One build that a worker asked for."""

    name: str
    """The extension's name as the submission gave it."""
    key: str
    """Content hash of sources, flags and toolchain."""
    ok: bool
    category: Category | None = None
    """Why it failed; None where it did not."""
    cached: bool = False
    uses_cuda: bool = False
    duration_s: float = 0.0
    output: str = ""
    """Output of all compilers, capped."""
    diagnostics: tuple[Diagnostic, ...] = ()
    attempts: tuple[BuildAttempt, ...] = ()
    """What the build that made this consisted of, in the order in which it ended; of a cached one, long ago."""

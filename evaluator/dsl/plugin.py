"""The contract of a DSL: the facts that the judge and the worker need.

It holds data and pure functions only. The worker's parent imports this module, so it imports only the standard library. So should a
plug-in: submissions import the DSL's own package, the plug-in never does.
"""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Protocol, TypeVar

log = logging.getLogger(__name__)

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
KERNEL_NAME = "{name}"
SUBMISSION = "submission.py"
UNDEFINED_NAME = re.compile(r"^NameError[(:]|\bname '[^']*' is not defined")
"""Python's messages about an undefined name."""

Fault = Literal["undeclared_identifier", "cuda_compile_error", "const_pointer", "missing_header"]
Refusal = Literal["oversized_block", "invalid_launch"]


class Raised(Protocol):
    """An exception that ended a request to the worker, as the worker reports it: a claim, with any text."""

    @property
    def type(self) -> str:
        """Name of its class."""

    @property
    def message(self) -> str: ...

    @property
    def line(self) -> int | None:
        """Line of the submission that raised it, from 1."""


@dataclass(frozen=True)
class Refused:
    """A kernel that the DSL's compiler rejected, and the place. The judge finds the submission's line by `quoted`, else by `line`, else by
    `name`, else it is the line that raised the exception."""

    message: str
    category: Fault = "cuda_compile_error"
    quoted: tuple[str, ...] = ()
    """Lines of the submission that the message quotes, up to the faulty one."""
    line: int | None = None
    """Line from 1, counted in the submission's own source."""
    name: str = ""
    """A Python name that the message is about."""
    kernel_line: int | None = None
    """Line and column from 1, counted in the kernel."""
    column: int | None = None


@dataclass(frozen=True)
class CompilerOutput:
    """Messages in the form of nvcc's or gcc's, about a source that was a string in the submission. The judge parses them."""

    text: str


def _nothing(_: Raised) -> None:
    return None


def _no_lack(_: Raised) -> str:
    return ""


@dataclass(frozen=True)
class Dsl:
    """One DSL. Its functions receive any text that a hostile worker sends; if they raise, the judge has no answer from them."""

    name: str
    """Lower-case letters, digits and underscores; also the name of the entry point."""
    title: str
    """The name as its users spell it."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Module to import → package to install for it."""
    marks: frozenset[str] = frozenset()
    """Dotted ends of the functions that make a kernel, called or as decorators: `triton.jit`, `RawKernel`."""
    caches: Mapping[str, str] = field(default_factory=dict)
    """Environment variable of a cache → name of its folder, below the worker's private folder."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """More environment variables of each worker."""
    without_device: Mapping[str, str] | None = None
    """Environment variables with which it runs kernels without a GPU, recorded by its `in_worker`; None if it needs one."""
    in_worker: str = ""
    """`module:function`, imported in the worker's parent and called in each worker before the submission is loaded, with a WorkerProcess
    (evaluator/worker/patches/process.py). It may return a function to call after any code that may have imported the DSL."""
    kernel_names: tuple[str, ...] = ()
    """Kernel names that the DSL makes from a function's name, such as `{name}_kernel`; a `*` at the end matches anything. A kernel with
    such a name is the submission's if that imports the DSL and defines a function `name`. Empty if kernels keep their functions' names."""
    library_kernels: tuple[str, ...] = ()
    """Kernels of the DSL's own library, which are no submission's work; a `*` at the end matches anything."""
    wraps_errors_of: str = ""
    """Prefix of the modules whose exceptions may leave place and text to their cause."""
    compile_error: Callable[[Raised], Refused | CompilerOutput | None] = _nothing
    """The error of the compiler; None if the exception is another one."""
    launch_error: Callable[[Raised], Refusal | None] = _nothing
    """Why a launch was refused before it reached CUDA."""
    lacks: Callable[[Raised], str] = _no_lack
    """What this machine lacks to compile any kernel, in words; empty if nothing."""
    trial: str = ""
    """Python code that every use begins with. If it raises the same exception in a process of the judge, the DSL is broken here."""
    misused: re.Pattern[str] | None = None
    """Messages of a TypeError or ValueError about the call that builds an extension."""
    compiles_in: Literal["builder", "worker"] = "worker"
    """Where its compilers run: in the builder, which caches the results, or in the submission's sandbox."""

    def __post_init__(self) -> None:
        """Raises ValueError for unusable fields."""
        if not NAME.fullmatch(self.name):
            raise ValueError(f"the name of a DSL must be lower-case letters, digits and underscores, not {self.name!r}")
        for template in self.kernel_names:
            before, found, after = template.partition(KERNEL_NAME)
            if not found or "*" in before or "*" in after[:-1] or (after.endswith("*") and len(after) < 2) or not before + after.strip("*"):
                raise ValueError(f"{template!r} is not a form of a kernel name, such as '{KERNEL_NAME}_kernel' or 'my_{KERNEL_NAME}_*'")
        for pattern in (*self.kernel_names, *self.library_kernels):
            if re.search(r"\s", pattern) or "*" in pattern[:-1] or pattern == "*":
                raise ValueError(f"{pattern!r}: a kernel name has no spaces, and a * only at its end")
        for folder in self.caches.values():
            if not NAME.fullmatch(folder):
                raise ValueError(f"{folder!r} is not a plain folder name")
        if self.in_worker and self.in_worker.count(":") != 1:
            raise ValueError(f"{self.in_worker!r} is not of the form module:function")

    def is_imported_by(self, source: str) -> bool:
        """Whether a line of the source imports one of its packages; always true for a DSL without packages."""
        modules = {module.partition(".")[0] for module in self.packages}
        found = (re.search(rf"^[ \t]*(?:from|import)[ \t]+(?:[\w., \t]*,[ \t]*)?{module}\b", source, re.MULTILINE) for module in modules)
        return not modules or any(found)

    def names_function(self, kernel: str, source: str) -> bool:
        """Whether the DSL gives this name to the kernel of a function in the source. False if the source does not import the DSL, since
        other DSLs' libraries may have kernels of such names too."""
        return self.is_imported_by(source) and any(
            _defines(source, function) for template in self.kernel_names for function in _functions(template, kernel)
        )


def _functions(template: str, kernel: str) -> list[str]:
    """The functions that a kernel of this name may come from."""
    before, _, after = template.partition(KERNEL_NAME)
    if not kernel.startswith(before):
        return []
    rest = kernel[len(before) :]
    if not after.endswith("*"):
        return [rest.removesuffix(after)] if rest.endswith(after) else []
    return [rest[: match.start()] for match in re.finditer(f"(?={re.escape(after[:-1])})", rest)]


def _defines(source: str, function: str) -> bool:
    return bool(function) and re.search(rf"(?<![A-Za-z0-9_])def {re.escape(function)}(?![A-Za-z0-9_])", source) is not None


def passes_submission(traceback: TracebackType | None) -> bool:
    """Whether an exception came through code of the submission: while the DSL traced a kernel, if the traceback begins in the DSL."""
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename.endswith(SUBMISSION):
            return True
        traceback = traceback.tb_next
    return False


Said = TypeVar("Said")


def asked(dsl: Dsl, function: Callable[[Raised], Said], raised: Raised) -> Said | None:
    """The result of one of a DSL's functions for an exception; None if it fails, since it did not expect the text."""
    try:
        return function(raised)
    except Exception:
        log.warning("the DSL %s failed to read an exception of type %.80r", dsl.name, raised.type, exc_info=True)
        return None

"""The contract of a DSL: what the judge and the worker have to be told of it.

Facts and pure functions alone. The worker's parent imports this, so it imports the standard library and nothing else. So should a plug-in:
the DSL's own package is imported by submissions, never by the plug-in.
"""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

log = logging.getLogger(__name__)

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
KERNEL_NAME = "{name}"
UNDEFINED_NAME = re.compile(r"^NameError[(:]|\bname '[^']*' is not defined")
"""How Python words a name that nothing defines."""

Fault = Literal["undeclared_identifier", "cuda_compile_error", "const_pointer", "missing_header"]
Refusal = Literal["oversized_block", "invalid_launch"]


class Raised(Protocol):
    """An exception that ended a request to the worker, as the worker tells it: a claim, of any text."""

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
    """A kernel that the DSL's compiler refused, and where. The judge finds the line of the submission: by what the message quotes, else by
    `line`, else by `name`, else it is the line that raised the exception."""

    message: str
    category: Fault = "cuda_compile_error"
    quoted: tuple[str, ...] = ()
    """Lines of the submission that the message quotes, up to the one with the error."""
    line: int | None = None
    """Line from 1, counted in the submission's own source."""
    name: str = ""
    """A name in Python that the message is about."""
    kernel_line: int | None = None
    """Line and column from 1, counted in the kernel."""
    column: int | None = None


@dataclass(frozen=True)
class CompilerOutput:
    """Messages in the form of nvcc's or gcc's, about a source that was a string in the submission. The judge reads them."""

    text: str


def _nothing(_: Raised) -> None:
    return None


def _no_lack(_: Raised) -> str:
    return ""


@dataclass(frozen=True)
class Dsl:
    """One DSL. The functions get whatever text a hostile worker sends; the judge takes it for no answer if they raise."""

    name: str
    """Small letters, digits and underscores; also the name of the entry point."""
    title: str
    """As its users spell it."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """What is imported, and which package has to be installed for it."""
    marks: frozenset[str] = frozenset()
    """Dotted ends of the functions that make a kernel, called or as decorators: `triton.jit`, `RawKernel`."""
    caches: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of its caches, and a folder's name for each, which will be in the worker's private folder."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further environment variables of each worker."""
    without_device: Mapping[str, str] | None = None
    """Environment variables by which it runs kernels without a GPU, noted by its `in_worker`; None where it needs one."""
    in_worker: str = ""
    """`module:function`, imported in the worker's parent and called in each worker before the submission is loaded, with a
    WorkerProcess (evaluator/worker/patches/process.py). It may return a function, which is called whenever code has run that may have
    imported the DSL."""
    kernel_names: tuple[str, ...] = ()
    """What the DSL makes of a function's name, as `{name}_kernel`; a `*` at the end stands for anything. A kernel of such a name is the
    submission's if that imports the DSL and defines a function `name`. Kernels that keep their functions' names need none."""
    library_kernels: tuple[str, ...] = ()
    """Kernels of the DSL's own library, which are nobody's work; a `*` at the end stands for anything."""
    wraps_errors_of: str = ""
    """Beginning of the modules whose exceptions may leave place and text to their cause."""
    compile_error: Callable[[Raised], Refused | CompilerOutput | None] = _nothing
    """What the compiler refused; None where the exception is another."""
    launch_error: Callable[[Raised], Refusal | None] = _nothing
    """What a launch was refused for before it came to CUDA."""
    lacks: Callable[[Raised], str] = _no_lack
    """What of the machine, looked for here, keeps any kernel from being compiled, in words; empty where nothing does."""
    trial: str = ""
    """Python that every use begins with. Where it raises the same exception in a process of the judge's, the DSL is broken here."""
    misused: re.Pattern[str] | None = None
    """Messages of a TypeError or ValueError about the call that builds an extension."""
    compiles_in: Literal["builder", "worker"] = "worker"
    """Where its compilers run: in the builder, whose products are cached, or in the sandbox of the submission that asks for them."""

    def __post_init__(self) -> None:
        """Raises ValueError for what the judge can't use."""
        if not NAME.fullmatch(self.name):
            raise ValueError(f"the name of a DSL is of small letters, digits and underscores, and not {self.name!r}")
        for template in self.kernel_names:
            before, found, after = template.partition(KERNEL_NAME)
            if not found or "*" in before or "*" in after[:-1] or (after.endswith("*") and len(after) < 2) or not before + after.strip("*"):
                raise ValueError(f"{template!r} is no form of a kernel's name, such as '{KERNEL_NAME}_kernel' or 'my_{KERNEL_NAME}_*'")
        for pattern in (*self.kernel_names, *self.library_kernels):
            if re.search(r"\s", pattern) or "*" in pattern[:-1] or pattern == "*":
                raise ValueError(f"{pattern!r}: the name of a kernel has no spaces, and a * at its end at most")
        for folder in self.caches.values():
            if not NAME.fullmatch(folder):
                raise ValueError(f"{folder!r} is no name of a folder in the worker's")
        if self.in_worker and self.in_worker.count(":") != 1:
            raise ValueError(f"{self.in_worker!r} is not of the form module:function")

    def is_imported_by(self, source: str) -> bool:
        """Whether a line of the source imports one of its packages; true of a DSL that has none."""
        modules = {module.partition(".")[0] for module in self.packages}
        found = (re.search(rf"^[ \t]*(?:from|import)[ \t]+(?:[\w., \t]*,[ \t]*)?{module}\b", source, re.MULTILINE) for module in modules)
        return not modules or any(found)

    def names_function(self, kernel: str, source: str) -> bool:
        """Whether this is what the DSL calls the kernel of a function that the source defines. Libraries of other DSLs may have kernels of
        such names too: where the source does not import this one, none is."""
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


Said = TypeVar("Said")


def asked(dsl: Dsl, function: Callable[[Raised], Said], raised: Raised) -> Said | None:
    """What one of a DSL's functions says of an exception; None where it fails over a text that it did not expect."""
    try:
        return function(raised)
    except Exception:
        log.warning("the DSL %s fails over an exception of type %.80r", dsl.name, raised.type, exc_info=True)
        return None

"""Rules over exceptions, and over the ends of the worker's process."""

import re
from collections.abc import Callable

from evaluator.category import Category
from evaluator.diagnosis.verdict import Verdict, doing
from evaluator.result import Evidence, ExceptionEvidence

DEVICE_ERRORS = {
    700: Category.ILLEGAL_MEMORY_ACCESS,
    710: Category.DEVICE_ASSERT,
    716: Category.MISALIGNED_ADDRESS,
    717: Category.ILLEGAL_MEMORY_ACCESS,
    718: Category.ILLEGAL_MEMORY_ACCESS,
    719: Category.ILLEGAL_MEMORY_ACCESS,
}
"""cudaError_t of a context that a kernel has broken: illegal address, assert, misaligned address, invalid address space, invalid program
counter, and launch failure (an unspecified fault, in practice a wild access)."""

VIOLATION_SIGNAL = "SIGSYS"
"""What ends a worker that makes a system call of `evaluator.sandbox.seccomp.DEADLY`."""
JUDGES_OWN = ("reference", "db", "pipeline")
"""Top-level modules of the judge's that no worker has; a fourth, `evaluator`, is there in part."""


def violation(evidence: Evidence) -> Verdict | None:
    """The kernel ends a process by SIGSYS for a system call that only serves to break out; which one, it does not say."""
    if evidence.exit is None or evidence.exit.signal != VIOLATION_SIGNAL:
        return None
    return Verdict(Category.SANDBOX_VIOLATION, f"{doing(evidence.exit.stage)} made a system call that serves to leave the sandbox (SIGSYS)")


def ended(evidence: Evidence) -> Verdict | None:
    exit_ = evidence.exit
    if exit_ is None:
        return None
    if exit_.deadline_s is not None:
        return Verdict(Category.TIMEOUT, f"{doing(exit_.stage)} did not end within {exit_.deadline_s:g} s")
    if exit_.memory_limit_bytes is not None:
        return Verdict(
            Category.OUT_OF_MEMORY, f"{doing(exit_.stage)} passed the memory limit of {exit_.memory_limit_bytes / 2**30:.3g} GiB"
        )
    if exit_.signal is not None:
        return Verdict(Category.PROCESS_CRASH, f"{doing(exit_.stage)} ended by {exit_.signal}")
    return Verdict(Category.EARLY_EXIT, f"{doing(exit_.stage)} ended the process with exit code {exit_.code}")


def exception(evidence: Evidence) -> Verdict | None:
    exception = evidence.exception
    if exception is None:
        return None
    category = next((category for category, applies in EXCEPTIONS if applies(exception, evidence)), Category.PYTHON_EXCEPTION)
    return Verdict(category, _exception_message(exception))


def _is_misuse(exception: ExceptionEvidence, _: Evidence) -> bool:
    return (
        exception.type in ("TypeError", "ValueError") and re.search(r"\b(load_inline|load)\(\)|'functions'", exception.message) is not None
    )


def _is_unloadable(exception: ExceptionEvidence, evidence: Evidence) -> bool:
    built = any(build.ok for build in evidence.builds)
    unloadable = re.search(r"undefined symbol|does not define module export function|cannot open shared object", exception.message)
    return exception.type in ("ImportError", "OSError") and built and unloadable is not None


def _reaches_judge(exception: ExceptionEvidence, evidence: Evidence) -> bool:
    """Whether it is the import of a module of the judge's. An extension of the submission's own may have the name of one."""
    if exception.type not in ("ImportError", "ModuleNotFoundError"):
        return False
    missing = re.match(r"No module named '([^']*)'", exception.message)
    if missing is None:
        return re.match(r"cannot import name '[^']*' from 'evaluator(\.[^']*)?'", exception.message) is not None
    name = missing[1]
    built = {build.name for build in evidence.builds}
    return name.partition(".")[0] == "evaluator" or (name in JUDGES_OWN and name not in built)


EXCEPTIONS: tuple[tuple[Category, Callable[[ExceptionEvidence, Evidence], bool]], ...] = (
    (Category.EARLY_EXIT, lambda exception, _: exception.type == "SystemExit"),
    (Category.LOAD_INLINE_MISUSE, _is_misuse),
    (Category.LINK_ERROR, _is_unloadable),
    (Category.REFERENCE_ACCESS, _reaches_judge),
    (Category.IMPORT_ERROR, lambda exception, _: exception.type in ("ImportError", "ModuleNotFoundError") and exception.stage == "load"),
    (Category.ILLEGAL_MEMORY_ACCESS, lambda exception, _: DEVICE_ERRORS.get(exception.cuda_error or 0) is Category.ILLEGAL_MEMORY_ACCESS),
    (Category.MISALIGNED_ADDRESS, lambda exception, _: DEVICE_ERRORS.get(exception.cuda_error or 0) is Category.MISALIGNED_ADDRESS),
    (Category.DEVICE_ASSERT, lambda exception, _: DEVICE_ERRORS.get(exception.cuda_error or 0) is Category.DEVICE_ASSERT),
    (Category.OUT_OF_MEMORY, lambda exception, _: exception.type in ("OutOfMemoryError", "MemoryError")),
    # PyTorch asks NVML how much memory there was, and may fail at that in a sandbox: then this is all it says of its allocator's failure.
    (Category.OUT_OF_MEMORY, lambda exception, _: re.search(r"can't allocate memory|CUDACachingAllocator", exception.message) is not None),
    (Category.INIT_ERROR, lambda exception, _: exception.stage == "construct"),
)
"""The first that applies names the category of an exception."""


def _exception_message(exception: ExceptionEvidence) -> str:
    lines = [line.strip() for line in exception.message.splitlines() if line.strip()]
    where = f"line {exception.line}: " if exception.line else ""
    return f"{where}{exception.type}: {lines[0] if lines else ''}"[:600].rstrip(": ")

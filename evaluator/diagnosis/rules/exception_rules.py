"""The rule for exceptions that the submission raised, and the meaning of CUDA's errors."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from evaluator.diagnosis.rule import rule
from evaluator.diagnosis.rules.ending_rules import MAX_STDERR_LINE_CHARS
from evaluator.diagnosis.verdict import Verdict
from evaluator.diagnosis.words import cut_middle, faulty_launch, plain_name
from evaluator.dsl import dsls
from evaluator.dsl.plugin import asked
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, ExceptionEvidence


@dataclass(frozen=True)
class DeviceFault:
    """An error that breaks a CUDA context."""

    category: Category
    words: str


DEVICE_FAULTS = {
    700: DeviceFault(Category.ILLEGAL_MEMORY_ACCESS, "a kernel read or wrote an address that it does not own"),
    710: DeviceFault(Category.DEVICE_ASSERT, "an assertion in a kernel failed"),
    714: DeviceFault(Category.ILLEGAL_MEMORY_ACCESS, "the stack of a kernel's thread was corrupted, or overflowed"),
    715: DeviceFault(Category.DEVICE_ASSERT, "a kernel ran an illegal instruction, such as __trap()"),
    716: DeviceFault(Category.MISALIGNED_ADDRESS, "a kernel used an address that is not aligned for the access"),
    717: DeviceFault(Category.ILLEGAL_MEMORY_ACCESS, "a kernel used an address of another memory space, such as shared instead of global"),
    718: DeviceFault(Category.ILLEGAL_MEMORY_ACCESS, "a kernel jumped to an address that holds no code"),
    719: DeviceFault(Category.ILLEGAL_MEMORY_ACCESS, "a kernel failed while it ran, usually by an invalid access or a stack overflow"),
}
"""Errors by cudaError_t (CUDA runtime API, Data types)."""
DEVICE_ERRORS = {code: fault.category for code, fault in DEVICE_FAULTS.items()}

MAX_MESSAGE_CHARS = 600
OF_REFERENCE = "the reference's file defines this name, but a submission does not see that file"
STANDS_ALONE = "Define or import every name in the submission's own file."
"""Hint if a name of the reference's file is missing: KernelBench runs both files in one namespace."""
JUDGES_OWN = ("reference", "db", "pipeline")
"""Top-level modules of the judge that no worker has. Workers have a part of `evaluator`."""
_LOADED = re.compile(r"/proc/self/fd/\d+: ")
"""The loader's name for an extension that the builder sent as a descriptor."""
_DEVICE_ASSERT = re.compile(
    r"^(?P<file>[^\s:]+):(?P<line>\d+): (?P<function>.*?): block: (?P<block>\[[\d,]+\]), thread: (?P<thread>\[[\d,]+\]) "
    r"Assertion `(?P<condition>.*)` failed\.$"
)


def _device_assert(stderr: str) -> re.Match[str] | None:
    """The first failed assertion in a kernel that CUDA reported."""
    lines = (line for line in stderr.splitlines() if len(line) <= MAX_STDERR_LINE_CHARS)
    return next((match for line in lines if (match := _DEVICE_ASSERT.match(line))), None)


def _fault_message(fault: DeviceFault, exception: ExceptionEvidence, evidence: Evidence) -> str:
    """The fault, the line that noticed it, and the kernels that may have caused it: launches are asynchronous."""
    where = f"line {exception.line}: " if exception.line else ""
    message = f"{where}{fault.words} (CUDA error {exception.cuda_error})"
    if asserted := _device_assert(evidence.stderr):
        kernel, condition = plain_name(asserted["function"]), asserted["condition"]
        message += f": `{condition}` in `{kernel}`, {asserted['file'].rsplit('/', 1)[-1]}:{asserted['line']}"
        return cut_middle(f"{message}, block {asserted['block']}, thread {asserted['thread']}", MAX_MESSAGE_CHARS)
    if evidence.fault is not None:
        return cut_middle(f"{message}: in {faulty_launch(evidence.fault)}", MAX_MESSAGE_CHARS)
    kernels = list(dict.fromkeys(plain_name(launch.kernel) for launch in evidence.launches if launch.own))
    if len(kernels) == 1:
        message += f": in `{kernels[0]}`, the only own kernel that was launched"
    elif kernels:
        message += f": one of {', '.join(f'`{kernel}`' for kernel in kernels[:6])}"
    return cut_middle(f"{message}; {exception.type}: {_first_line(exception)}", MAX_MESSAGE_CHARS)


def _is_misuse(exception: ExceptionEvidence, _: Evidence) -> bool:
    return exception.type in ("TypeError", "ValueError") and any(dsl.misused and dsl.misused.search(exception.message) for dsl in dsls())


def _is_unloadable(exception: ExceptionEvidence, evidence: Evidence) -> bool:
    built = any(build.ok for build in evidence.builds)
    unloadable = re.search(r"undefined symbol|does not define module export function|cannot open shared object", exception.message)
    return exception.type in ("ImportError", "OSError") and built and unloadable is not None


def _reaches_judge(exception: ExceptionEvidence, evidence: Evidence) -> bool:
    """Whether the submission imported a module of the judge. An extension of its own may have the same name."""
    if exception.type not in ("ImportError", "ModuleNotFoundError"):
        return False
    missing = re.match(r"No module named '([^']*)'", exception.message)
    if missing is None:
        return re.match(r"cannot import name '[^']*' from 'evaluator(\.[^']*)?'", exception.message) is not None
    name = missing[1]
    built = {build.name for build in evidence.builds}
    return name.partition(".")[0] == "evaluator" or (name in JUDGES_OWN and name not in built)


def _is_refused(category: Category) -> Callable[[ExceptionEvidence, Evidence], bool]:
    """A test of whether a DSL refused the launch for this reason."""
    return lambda exception, _: any(asked(dsl, dsl.launch_error, exception) == category.value for dsl in dsls())


_SHORTAGE = re.compile(r"can't allocate memory|CUDACachingAllocator|CUDA error: out of memory|^std::bad_alloc")

EXCEPTIONS: tuple[tuple[Category, Callable[[ExceptionEvidence, Evidence], bool]], ...] = (
    (Category.EARLY_EXIT, lambda exception, _: exception.type == "SystemExit"),
    (Category.LOAD_INLINE_MISUSE, _is_misuse),
    (Category.LINK_ERROR, _is_unloadable),
    (Category.REFERENCE_ACCESS, _reaches_judge),
    (Category.IMPORT_ERROR, lambda exception, _: exception.type in ("ImportError", "ModuleNotFoundError") and exception.stage == "load"),
    (Category.ILLEGAL_MEMORY_ACCESS, lambda exception, _: DEVICE_ERRORS.get(exception.cuda_error or 0) is Category.ILLEGAL_MEMORY_ACCESS),
    (Category.MISALIGNED_ADDRESS, lambda exception, _: DEVICE_ERRORS.get(exception.cuda_error or 0) is Category.MISALIGNED_ADDRESS),
    (Category.DEVICE_ASSERT, lambda exception, _: DEVICE_ERRORS.get(exception.cuda_error or 0) is Category.DEVICE_ASSERT),
    (Category.OVERSIZED_BLOCK, _is_refused(Category.OVERSIZED_BLOCK)),
    (Category.INVALID_LAUNCH, _is_refused(Category.INVALID_LAUNCH)),
    (Category.OUT_OF_MEMORY, lambda exception, _: exception.type in ("OutOfMemoryError", "MemoryError")),
    # PyTorch asks NVML for the free memory. If that fails in a sandbox, this is its only message about a failed allocation.
    (Category.OUT_OF_MEMORY, lambda exception, _: _SHORTAGE.search(exception.message) is not None),
    (Category.INIT_ERROR, lambda exception, _: exception.stage == "construct"),
)
"""In order: the first test that applies gives the category of an exception."""


@rule(order=80, gives=[*dict.fromkeys(category for category, _ in EXCEPTIONS), Category.PYTHON_EXCEPTION])
def raised_exception(evidence: Evidence) -> Verdict | None:
    exception = evidence.exception
    if exception is None:
        return None
    category = next((category for category, applies in EXCEPTIONS if applies(exception, evidence)), Category.PYTHON_EXCEPTION)
    fault = DEVICE_FAULTS.get(exception.cuda_error or 0)
    if fault is not None and fault.category is category:
        return Verdict(category, _fault_message(fault, exception, evidence))
    if evidence.reference_name:
        return Verdict(category, f"{_exception_message(exception)}; {OF_REFERENCE}", STANDS_ALONE)
    return Verdict(category, _exception_message(exception))


def _exception_message(exception: ExceptionEvidence) -> str:
    where = f"line {exception.line}: " if exception.line else ""
    return cut_middle(f"{where}{exception.type}: {_first_line(exception)}", MAX_MESSAGE_CHARS).rstrip(": ")


def _first_line(exception: ExceptionEvidence) -> str:
    """The first line of the message; plus all others if it introduces them, and the last one if they are a traceback."""
    lines = [_LOADED.sub("the extension: ", line.strip()) for line in exception.message.splitlines() if line.strip()]
    if len(lines) > 1 and lines[1].startswith("Traceback"):
        return f"{lines[0]} {lines[-1]}"
    return " ".join(lines if lines and lines[0].endswith(":") else lines[:1])

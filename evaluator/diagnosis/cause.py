"""Finds the line of the submission that caused a verdict."""

import re

from evaluator.build.diagnostics.messages import errors, readable
from evaluator.diagnosis.notes import python_reader
from evaluator.diagnosis.source_map import SourceMap
from evaluator.diagnosis.words import plain_name
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence, LaunchRecord
from evaluator.results.result import Result

_IN_MESSAGE = re.compile(r"^line (\d{1,9})\b")
_UNDEFINED = re.compile(r"undefined symbol: (\w{1,500})")
ALLOCATES = frozenset(
    (
        *("empty", "zeros", "ones", "full", "rand", "randn", "randint", "arange", "eye", "bytearray", "bytes", "outer", "cartesian_prod"),
        *("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"),
        *("new_empty", "new_zeros", "new_ones", "new_full"),
        *("repeat", "tile", "repeat_interleave", "cdist", "combinations", "one_hot"),
    )
)
"""Functions of Python and PyTorch that allocate as much memory as their arguments say."""
_OF_LAUNCHES = (Category.OVERSIZED_BLOCK, Category.INVALID_LAUNCH)
_OF_DEVICE = (Category.ILLEGAL_MEMORY_ACCESS, Category.MISALIGNED_ADDRESS, Category.DEVICE_ASSERT)


def line_of(result: Result, code: str, first_line: int = 1) -> int | None:
    """The line of the file, from 1, where `code` begins on line `first_line`; None if no single line is the cause."""
    evidence = result.evidence
    if result.category is Category.LINK_ERROR and (line := _of_symbol(evidence, code, first_line)):
        return line
    if result.status is Status.BUILD_FAILED and evidence.builds:
        return _of_build(evidence) or _of_exception(evidence)
    if result.category in _OF_LAUNCHES and (refused := first_refused(evidence)):
        return _of_launch(refused, code, first_line) or _of_exception(evidence)
    if result.category in _OF_DEVICE or (result.category is Category.TIMEOUT and evidence.fault):
        return _of_kernel(evidence, code, first_line) or _of_exception(evidence)
    if line := _of_exception(evidence):
        return line
    if result.category is Category.OUT_OF_MEMORY:
        return _of_allocation(code, first_line)
    named = _IN_MESSAGE.match(result.message)
    return int(named[1]) if named else None


def first_refused(evidence: Evidence) -> LaunchRecord | None:
    """The submission's first own launch that was refused."""
    refused = [launch for launch in evidence.launches if launch.own and launch.code != 0]
    return min(refused, key=lambda launch: launch.first, default=None)


def _of_allocation(code: str, first_line: int) -> int | None:
    """The only line that allocates, if there is just one: a process killed for its memory use leaves no traceback."""
    script = python_reader.read(code)
    lines = {call.line for call in script.calls if call.name.rsplit(".", 1)[-1] in ALLOCATES} if script else set()
    return lines.pop() + first_line - 1 if len(lines) == 1 else None


def _of_exception(evidence: Evidence) -> int | None:
    return evidence.exception.line if evidence.exception else None


def _of_symbol(evidence: Evidence, code: str, first_line: int) -> int | None:
    """The line that declares the function that the loader did not find."""
    missing = _UNDEFINED.search(evidence.exception.message) if evidence.exception else None
    place = SourceMap(code, first_line).declared(readable(missing[1])) if missing else None
    return place.line if place else None


def _of_build(evidence: Evidence) -> int | None:
    """The line of the first error of the last build that failed."""
    failed = next((build for build in reversed(evidence.builds) if not build.ok), None)
    first = next(iter(errors(failed.diagnostics)), None) if failed else None
    return first.source_line if first else None


def _of_launch(launch: LaunchRecord, code: str, first_line: int) -> int | None:
    script = python_reader.read(code)
    name = plain_name(launch.kernel)
    lines = [item.line for source in script.sources for item in source.launches if item.kernel == name] if script else []
    return lines[0] + first_line - 1 if lines else None


def _of_kernel(evidence: Evidence, code: str, first_line: int) -> int | None:
    """The first line of the faulty kernel: the known one, or the only one."""
    at_fault = [evidence.fault.kernel] if evidence.fault else [launch.kernel for launch in evidence.launches if launch.own]
    names = {plain_name(kernel) for kernel in at_fault}
    script = python_reader.read(code)
    if script is None or len(names) != 1:
        return None
    lines = [kernel.line for source in script.sources for kernel in source.kernels if kernel.name in names and kernel.body]
    return lines[0] + first_line - 1 if len(lines) == 1 else None

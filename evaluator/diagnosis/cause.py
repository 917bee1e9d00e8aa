"""Finds the line of the submission that caused a verdict."""

import ast
import re
from itertools import islice

from evaluator.build.diagnostics.messages import errors, readable
from evaluator.diagnosis.notes.static_notes import uncommented
from evaluator.diagnosis.source_map import SourceMap
from evaluator.diagnosis.words import plain_name
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence, LaunchRecord
from evaluator.results.result import Result
from evaluator.submission.source import parse

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
    try:
        calls = [node for node in ast.walk(parse(code)) if isinstance(node, ast.Call)]
    except SyntaxError:
        return None
    lines = {call.lineno for call in calls if getattr(call.func, "attr", getattr(call.func, "id", None)) in ALLOCATES}
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
    name = re.escape(plain_name(launch.kernel))
    by_call = r"\b(?:cudaLaunch(?:Kernel(?:ExC?)?|CooperativeKernel)|cuLaunchKernel)\s*\([^;]{0,400}?"
    lines = _lines_of(rf"\b{name}\s*(?:<[^;{{}}<]{{0,200}}>\s*)?<<<|{by_call}\b{name}\b", code, first_line)
    return lines[0] if lines else None


def _of_kernel(evidence: Evidence, code: str, first_line: int) -> int | None:
    """The first line of the faulty kernel: the known one, or the only one."""
    at_fault = [evidence.fault.kernel] if evidence.fault else [launch.kernel for launch in evidence.launches if launch.own]
    names = {plain_name(kernel) for kernel in at_fault}
    if len(names) != 1:
        return None
    lines = _lines_of(rf"__global__[^;{{}}]{{0,120}}?\b({re.escape(names.pop())})\s*\([^;{{}}]{{0,1000}}\{{", code, first_line)
    return lines[0] if len(lines) == 1 else None


def _lines_of(pattern: str, code: str, first_line: int) -> list[int]:
    """The first two lines of the pattern's last group, or of its start, in the code without comments."""
    text = uncommented(code)
    return [first_line + text.count("\n", 0, match.start(match.lastindex or 0)) for match in islice(re.finditer(pattern, text), 2)]

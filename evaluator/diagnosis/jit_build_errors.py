"""Turns errors of compilers that run in the worker, such as Triton's and NVRTC, into failed builds with the submission's line.

These compilers raise exceptions in the worker. The DSL (evaluator/dsl) says which exceptions come from a compiler, and from which line.
"""

import re

from evaluator.build.commands import Step
from evaluator.build.diagnostics.failure_category import categorise
from evaluator.build.diagnostics.messages import parse
from evaluator.build.request import BuildRequest, SourceFile
from evaluator.diagnosis.source_map import SourceMap
from evaluator.diagnosis.words import without_paths
from evaluator.dsl import CompilerOutput, Refused, dsls
from evaluator.dsl.plugin import asked
from evaluator.results.category import Category, Status
from evaluator.results.evidence import BuildEvidence, Diagnostic, ExceptionEvidence

MAX_TEXT_CHARS = 1000
FAULTS = {
    category.value: category
    for category in (Category.UNDECLARED_IDENTIFIER, Category.CUDA_COMPILE_ERROR, Category.CONST_POINTER, Category.MISSING_HEADER)
}
"""Categories that a DSL may give an error."""

_QUOTED = re.compile(r"^(?P<file>[^\s(][^(]*)\((?P<line>\d{1,9})\): (?:catastrophic error|error)")


def failed_build(exception: ExceptionEvidence, source: SourceMap) -> BuildEvidence | None:
    """The failed build that an exception of the worker reports; None if it reports none."""
    for dsl in dsls():
        said = asked(dsl, dsl.compile_error, exception)
        if isinstance(said, Refused):
            name, category, diagnostics = dsl.name, FAULTS.get(said.category, Category.CUDA_COMPILE_ERROR), _placed(said, exception, source)
        elif isinstance(said, CompilerOutput) and (read := _read(said.text, source)):
            name, (category, diagnostics) = "nvrtc", read
        else:
            continue
        output = exception.message
        return BuildEvidence(name=name, key="", ok=False, category=category, uses_cuda=True, output=output, diagnostics=diagnostics)
    return None


def _placed(said: Refused, exception: ExceptionEvidence, source: SourceMap) -> tuple[Diagnostic, ...]:
    """The error as a diagnostic, with its line of the submission; if unknown, with the line that raised the exception."""
    found = source.place(said.quoted, len(said.quoted)) if said.quoted else None
    excerpt = ""
    if said.quoted:
        indent = max((said.column or 1) - 1 - _indent(said.quoted[-1]), 0)
        excerpt = f"{said.quoted[-1].strip()}\n{' ' * indent}^"
    elif said.line is not None:
        found = source.line(said.line + source.first_line - 1)
    elif said.name:
        found = source.named(said.name)
    line = found.line if found else exception.line
    return (
        Diagnostic(
            file="kernel",
            line=said.kernel_line or line,
            column=said.column,
            severity="error",
            message=said.message[:MAX_TEXT_CHARS],
            source_line=line,
            excerpt=excerpt or (found.text.strip() if found else ""),
        ),
    )


def _read(text: str, source: SourceMap) -> tuple[Category, tuple[Diagnostic, ...]] | None:
    """Read messages in nvcc's style, each followed by the code line, about a file that was a string in the submission."""
    output = without_paths(text)
    found = parse(output)
    if not found:
        return None
    lines = output.splitlines()
    quoted: dict[tuple[str, int], str] = {}
    for number, line in enumerate(lines[:-1]):
        if match := _QUOTED.match(line):
            quoted.setdefault((match["file"], int(match["line"])), lines[number + 1])
    request = BuildRequest(name="kernel", sources=(SourceFile(name="kernel.cu", text=""),))
    category = categorise(request, Step.CUDA, output, lambda _: False)
    if category.status is not Status.BUILD_FAILED:  # this is the worker's claim, and it may not blame the machine
        category = Category.MISSING_HEADER if category is Category.NO_TOOLCHAIN else Category.CUDA_COMPILE_ERROR
    return category, tuple(_in_string(item, quoted.get((item.file, item.line or 0), ""), source) for item in found)


def _in_string(item: Diagnostic, text: str, source: SourceMap) -> Diagnostic:
    if item.line is None or not text.strip():
        return item
    place = source.in_string(text, item.line)
    at = (item.column or 1) - 1 - (_indent(text) - 2)  # the compiler indents the line by two characters
    excerpt = f"{text.strip()}\n{' ' * at}^" if item.column and at >= 0 else text.strip()
    return item.model_copy(update={"source_line": place.line if place else None, "excerpt": excerpt})


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())

"""Turns errors of JIT compilers, Triton, NVRTC (CuPy and PyTorch) and Numba, into failed builds with the line of the submission.

These compilers run in the worker and raise exceptions there.
"""

import re
from collections.abc import Callable

from evaluator.build.commands import Step
from evaluator.build.diagnostics import categorise
from evaluator.build.messages import parse
from evaluator.build.request import BuildRequest, SourceFile
from evaluator.diagnosis.source_map import SourceMap
from evaluator.diagnosis.words import without_paths
from evaluator.results.category import Category, Status
from evaluator.results.evidence import BuildEvidence, Diagnostic, ExceptionEvidence

TRITON = frozenset(("CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct"))
TRITON_BEHIND = "PTXASError"
"""Triton raises it where ptxas refuses the code that Triton generated."""
INTERPRETER = "InterpreterError"
NVRTC = frozenset(("CompileException", "NvrtcCompilationError"))
PYTORCHS_NVRTC = "Kernel compilation failed:"
"""The beginning of the RuntimeError of torch.cuda._compile_kernel."""
NUMBA = frozenset(
    (
        *("TypingError", "LoweringError", "UnsupportedError", "UnsupportedBytecodeError", "NotDefinedError", "ForbiddenConstruct"),
        *("ByteCodeSupportError", "ConstantInferenceError", "NvvmError", "RequireLiteralValue", "LiteralTypingError"),
    )
)
MAX_TEXT_CHARS = 1000

_TRITON_PLACE = re.compile(r"^at (?P<line>\d{1,6}):(?P<column>\d{1,3}):$", re.MULTILINE)
_UNDECLARED = re.compile(
    r"""^NameError\(|^NameError:\ |\bname\ '[^']*'\ is\ not\ defined|^Untyped\ global\ name|\bVariable\ '[^']*'\ is\ not\ defined
      | ^AttributeError\("module\ 'triton\.language[\w.]*'\ has\ no\ attribute
    """,
    re.VERBOSE,
)
_QUOTED = re.compile(r"^(?P<file>[^\s(][^(]*)\((?P<line>\d{1,9})\): (?:catastrophic error|error)")
_NUMBA_PLACE = re.compile(r'^File "[^"]{0,400}submission\.py", line (?P<line>\d{1,9}):')
_NAME = re.compile(r"\bname '(\w{1,200})' is not defined")
_ESCAPE = re.compile(r"\x1b\[[\d;]*m")
_PIPELINE = "Failed in "


def failed_build(exception: ExceptionEvidence, source: SourceMap) -> BuildEvidence | None:
    """The failed build that an exception of the worker reports; None where it reports none."""
    reader = _reader(exception)
    found = reader(exception, source) if reader else None
    if found is None:
        return None
    name, category, diagnostics = found
    return BuildEvidence(name=name, key="", ok=False, category=category, uses_cuda=True, output=exception.message, diagnostics=diagnostics)


Found = tuple[str, Category, tuple[Diagnostic, ...]]


def _reader(exception: ExceptionEvidence) -> Callable[[ExceptionEvidence, SourceMap], Found | None] | None:
    if exception.type in TRITON:
        return _by_triton
    if exception.type in (TRITON_BEHIND, INTERPRETER):
        return _by_line
    if exception.type in NVRTC or (exception.type == "RuntimeError" and exception.message.startswith(PYTORCHS_NVRTC)):
        return _by_nvrtc
    return _by_numba if exception.type in NUMBA else None


def _by_triton(exception: ExceptionEvidence, source: SourceMap) -> Found | None:
    """Triton names places from the outermost function to the innermost, with the code above each; the last with a message counts."""
    places = list(_TRITON_PLACE.finditer(exception.message))
    if not places:
        return None
    ends = [place.start() for place in places[1:]] + [len(exception.message)]
    said = [(place, *_excerpt(exception.message[place.end() : end])) for place, end in zip(places, ends, strict=True)]
    place, excerpt, text = next((item for item in reversed(said) if item[2]), said[-1])
    found = source.place(excerpt, len(excerpt))
    column = int(place["column"])
    shown = f"{excerpt[-1].strip()}\n{' ' * max(column - _indent(excerpt[-1]), 0)}^" if excerpt else ""
    diagnostic = Diagnostic(
        file="kernel",
        line=int(place["line"]),
        column=column + 1,
        severity="error",
        message=text or "Triton refuses this",
        source_line=found.line if found else exception.line,
        excerpt=shown,
    )
    return "triton", _category(text), (diagnostic,)


def _excerpt(text: str) -> tuple[list[str], str]:
    """The kernel's lines up to the one with the error, and the message below the caret."""
    lines = text.strip("\n").split("\n")
    caret = next((number for number, line in enumerate(lines) if line.strip() == "^"), None)
    if caret is None:
        return [], " ".join(text.split())[:MAX_TEXT_CHARS]
    return lines[:caret], " ".join(" ".join(lines[caret + 1 :]).split())[:MAX_TEXT_CHARS]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _by_line(exception: ExceptionEvidence, _: SourceMap) -> Found | None:
    """A message in one line, placed where the exception was raised. The interpreter raises whatever a kernel raises; only undefined names
    are errors that a compiler would report."""
    text = " ".join(exception.message.split())[:MAX_TEXT_CHARS]
    if exception.type == INTERPRETER and not (_UNDECLARED.search(text)):
        return None
    diagnostic = Diagnostic(file="kernel", severity="error", message=text, line=exception.line, source_line=exception.line)
    return "triton", _category(text), (diagnostic,)


def _by_nvrtc(exception: ExceptionEvidence, source: SourceMap) -> Found | None:
    """NVRTC's messages are like nvcc's, about a file that was a string in the submission, with the code line below each."""
    output = without_paths(exception.message)
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
    if category.status is not Status.BUILD_FAILED:  # the worker says so, and no worker may blame the machine
        category = Category.MISSING_HEADER if category is Category.NO_TOOLCHAIN else Category.CUDA_COMPILE_ERROR
    return "nvrtc", category, tuple(_in_string(item, quoted.get((item.file, item.line or 0), ""), source) for item in found)


def _in_string(item: Diagnostic, text: str, source: SourceMap) -> Diagnostic:
    if item.line is None or not text.strip():
        return item
    place = source.in_string(text, item.line)
    at = (item.column or 1) - 1 - (_indent(text) - 2)  # the compiler indents the line by two characters
    excerpt = f"{text.strip()}\n{' ' * at}^" if item.column and at >= 0 else text.strip()
    return item.model_copy(update={"source_line": place.line if place else None, "excerpt": excerpt})


def _by_numba(exception: ExceptionEvidence, source: SourceMap) -> Found | None:
    """Numba names files and lines; the last place is the innermost."""
    lines = [_ESCAPE.sub("", line).strip() for line in exception.message.splitlines()]
    text = next((line for line in lines if line and not line.startswith(_PIPELINE)), "")[:MAX_TEXT_CHARS]
    places = [int(match["line"]) for line in lines if (match := _NUMBA_PLACE.match(line))]
    name = _NAME.search(text)
    place = source.line(places[-1] + source.first_line - 1) if places else source.named(name[1]) if name else None
    line = place.line if place else exception.line
    diagnostic = Diagnostic(
        file="kernel", line=line, severity="error", message=text, source_line=line, excerpt=place.text.strip() if place else ""
    )
    return "numba", _category(text), (diagnostic,)


def _category(text: str) -> Category:
    return Category.UNDECLARED_IDENTIFIER if _UNDECLARED.search(text) else Category.CUDA_COMPILE_ERROR

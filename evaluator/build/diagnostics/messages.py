"""Parses the output of compilers and linkers into diagnostics: nvcc, cudafe++, cicc, ptxas, nvlink, g++, as, ld and the loader."""

import re
from collections.abc import Iterable, Iterator, Sequence

from evaluator.results.evidence import Diagnostic

MAX_ERRORS = 50
MAX_WARNINGS = 20
MAX_INFOS = 40
MAX_MESSAGE_CHARS = 1000
MAX_FILE_CHARS = 512
"""Longer names are no files: a source can give its lines any file name. Nor does a file have a billion lines."""
INSTALLED = ("/", "torch/", "cuda/", "cudnn/", "python/", "c++/")
"""Begins of paths of headers that are not the submission's, in output as it is stored (`short_paths`)."""
NOT_ITS_OWN = "not a file of the submission"
CONTEXT_LINES = 40
"""Number of lines around a message that are searched for its cause."""

_GNU = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>[0-9]{1,9}):(?:(?P<column>[0-9]{1,9}):)? "
    r"(?P<severity>fatal error|error|warning|internal compiler error|sorry, unimplemented): (?P<message>.*)$"
)
_GAS = re.compile(r"^(?P<file>[^\s:][^:]*):(?:(?P<line>[0-9]{1,9}):)? (?P<severity>Fatal error|Error|Warning): (?P<message>.*)$")
_EDG = re.compile(
    r"^(?P<file>[^\s(][^(]*)\((?P<line>[0-9]{1,9})\): "
    r"(?P<severity>catastrophic error|error|warning)(?: #[\w-]+)?: (?P<message>.*)$"
)
_PTXAS = re.compile(r"^ptxas (?P<file>[^,\s]+), line (?P<line>[0-9]{1,9}); (?P<severity>error|fatal|warning)\s*: (?P<message>.*)$")
_LD_SYMBOL = re.compile(
    r"^(?:\S*ld: )?(?:\S+?\.o:)?(?P<file>[^\s:(]+):?(?:(?P<line>[0-9]{1,9})|\([^)]*\)): "
    r"(?P<message>(?:undefined reference to|multiple definition of) .*)$"
)
_LD = re.compile(
    r"^(?:\S*/)?(?P<file>ld(?:\.\w+)?): "
    r"(?P<message>(?:cannot find|undefined (?:symbol|reference)|.*relocation|.*hidden symbol|.*file not recognized).*)$"
)
_LOADER = re.compile(r"^(?:\w+Error: )?(?P<file>\S+\.so|/proc/self/fd/\d+): (?P<message>undefined symbol: .*)$")
_DRIVER = re.compile(
    r"^(?P<file>nvcc|ptxas|nvlink|fatbinary|g\+\+|gcc|c\+\+|cc1plus|cc1|collect2|cicc|cudafe\+\+)(?::)? ?"
    r"(?P<severity>fatal error|error|fatal|warning)\s*: (?P<message>.*)$"
)
_PATTERNS = (_EDG, _GNU, _GAS, _PTXAS, _LD_SYMBOL, _LD, _LOADER, _DRIVER)
_SEVERITIES = {
    **dict.fromkeys(("catastrophic error", "fatal", "Fatal error", "internal compiler error"), "fatal error"),
    **dict.fromkeys(("sorry, unimplemented", "Error"), "error"),
    "Warning": "warning",
}

_AFTERTHOUGHTS = ("ld returned", "Ptx assembly aborted")
"""Errors that only report that there was an error."""
_CONSEQUENCE = re.compile(r'"<error-type>"|^identifier "[^"]*" is undefined in device code$|^too many errors emitted')
"""Errors that follow from another one."""

_MORE = re.compile(r"^ {12,}(?P<text>(?:argument types? (?:are|is)|object type is|operand types are): .*|function \".*\".*)$")
"""A line of EDG's that continues the message above it."""
_REQUIRED = re.compile(r"^(?P<file>[^\s:/][^:]*):(?P<line>[0-9]{1,9}):(?:[0-9]{1,9}:)? +(?:\S.* )?required from\b")
_INCLUDED = re.compile(r"^(?:In file included from| +from) (?P<file>[^\s:/][^:]*):(?P<line>[0-9]{1,9})[:,]")
_INSTANTIATED = re.compile(
    r"^ +(?:detected during.*|instantiation of .*|processing of .*|\[ .*)? at line (?P<line>[0-9]{1,9})(?: of (?P<file>\S+?))?$"
)

_ENTRY = re.compile(r"^ptxas info\s*: Compiling entry function '(?P<name>[^']+)'")
_PROPERTIES = re.compile(r"^ptxas info\s*: Function properties for (?P<name>\S+)")
_STACK = re.compile(r"^ +(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads")
_USED = re.compile(r"^ptxas info\s*: Used (?P<registers>\d+) registers(?P<rest>.*)$")
_SHARED = re.compile(r"(\d+) bytes smem")
_OF_KERNEL = re.compile(r"^((?:Entry f|F)unction) '(?P<name>[^']+)'")
_LOSS = re.compile(r"^ptxas info\s*: (?P<message>\(C\d+\) .*)$")


def parse(output: str) -> tuple[Diagnostic, ...]:
    """The messages in `output`, each once: errors in order, then errors that follow from others, then warnings, then ptxas's figures of
    kernels. Their number and length are limited. Notes are left out."""
    lines = [line[: MAX_MESSAGE_CHARS * 2] for line in output.splitlines()]
    room = {"error": MAX_ERRORS, "fatal error": MAX_ERRORS, "warning": MAX_WARNINGS, "info": MAX_INFOS}
    found: dict[tuple[str, int | None, str], Diagnostic] = {}
    for diagnostic in (*_messages(lines), *_kernels(lines)):
        key = (diagnostic.file, diagnostic.line, diagnostic.message)
        if key not in found and room[diagnostic.severity] > 0:
            room[diagnostic.severity] -= 1
            found[key] = diagnostic
    return tuple(sorted(found.values(), key=_rank))


def _rank(diagnostic: Diagnostic) -> int:
    if diagnostic.severity in ("warning", "info"):
        return 3 + (diagnostic.severity == "info")
    return 2 if _is_afterthought(diagnostic) else 1 if _CONSEQUENCE.search(diagnostic.message) else 0


def _messages(lines: Sequence[str]) -> Iterator[Diagnostic]:
    for number, line in enumerate(lines):
        match = next((match for pattern in _PATTERNS if (match := pattern.match(line))), None)
        if match is None or len(match["file"]) > MAX_FILE_CHARS:
            continue
        parts = match.groupdict()
        severity = parts.get("severity") or "error"
        asked_file, asked_line = _asked(lines, number, parts["file"]) if parts.get("line") else (None, None)
        yield Diagnostic(
            file=parts["file"],
            line=int(parts["line"]) if parts.get("line") else None,
            column=int(parts["column"]) if parts.get("column") else _caret(lines, number),
            severity=_SEVERITIES.get(severity, severity),
            message="; ".join([_plain(parts["message"].strip()), *_continued(lines, number)])[:MAX_MESSAGE_CHARS],
            asked_file=asked_file,
            asked_line=asked_line,
        )


def _plain(message: str) -> str:
    """The message with readable kernel names; ptxas prints mangled symbols."""
    return _OF_KERNEL.sub(lambda match: f"{match[1]} '{readable(match['name'])}'", message)


def _continued(lines: Sequence[str], number: int) -> Iterator[str]:
    for line in lines[number + 1 : number + 4]:
        match = _MORE.match(line)
        if match is None:
            return
        yield " ".join(match["text"].split())


def _caret(lines: Sequence[str], number: int) -> int | None:
    """The column of EDG's caret. EDG indents the line by two characters more than the file does."""
    for place in range(number + 1, min(number + 6, len(lines))):
        if lines[place].strip() == "^":
            column = lines[place].index("^") - 1
            return column if column > 0 and not lines[place - 1].lstrip().startswith("__attribute__") else None
        if _EDG.match(lines[place]):
            return None
    return None


def _asked(lines: Sequence[str], number: int, file: str) -> tuple[str | None, int | None]:
    """The place in a file of the build that led to a message about `file`: an instantiation, or an include.

    Files of the build are named from its folder, headers of others with their whole path.
    """
    after = lines[number + 1 : number + 1 + CONTEXT_LINES]
    for line in after:
        if any(pattern.match(line) for pattern in _PATTERNS):
            break
        if (match := _INSTANTIATED.match(line)) and not (match["file"] or file).startswith("/"):
            place = (match["file"] or file, int(match["line"]))
            last = place
            for more in after[after.index(line) + 1 :]:
                if (further := _INSTANTIATED.match(more)) and not (further["file"] or last[0]).startswith("/"):
                    last = (further["file"] or last[0], int(further["line"]))
                elif not more.startswith("   "):
                    break
            return last
    if not file.startswith("/"):
        return None, None
    for line in reversed(lines[max(number - CONTEXT_LINES, 0) : number]):
        if match := _REQUIRED.match(line) or _INCLUDED.match(line):
            return match["file"], int(match["line"])
        if any(pattern.match(line) for pattern in _PATTERNS):
            break
    return None, None


def _kernels(lines: Iterable[str]) -> Iterator[Diagnostic]:
    """ptxas -v's figures of each kernel, as one message, and its remarks on lost performance."""
    name, stack, kernel = "", "", False
    for line in lines:
        if match := _LOSS.match(line):
            yield Diagnostic(file="ptxas", severity="info", message=match["message"][:MAX_MESSAGE_CHARS])
        elif match := _ENTRY.match(line):
            name, stack, kernel = match["name"], "", True
        elif match := _PROPERTIES.match(line):
            kernel = kernel and match["name"] == name
        elif match := _STACK.match(line):
            spilled = int(match["stores"]) or int(match["loads"])
            stack = f", {match['stack']} bytes of local memory" if int(match["stack"]) else ""
            stack += f", spilling {match['stores']} bytes of stores and {match['loads']} of loads" if spilled else ""
        elif (match := _USED.match(line)) and name:
            shared = _SHARED.search(match["rest"])
            static = f", {shared[1]} bytes of static shared memory" if shared else ""
            yield Diagnostic(file="ptxas", severity="info", message=f"`{readable(name)}`: {match['registers']} registers{stack}{static}")
            name = ""


def readable(symbol: str) -> str:
    """The function's name in a mangled symbol of the Itanium ABI, without namespaces, parameters and template arguments; other symbols
    unchanged. A full demangler would expose more code to text from submissions."""
    if not symbol.startswith("_Z"):
        return symbol
    rest, name = symbol[2:].removeprefix("N"), ""
    while match := re.match(r"[KLr]*(\d{1,4})", rest):
        start, length = match.end(), int(match[1])
        name, rest = rest[start : start + length], rest[start + length :]
        if rest.startswith("I") or not symbol.startswith("_ZN"):
            break
    return name or symbol


def _is_afterthought(diagnostic: Diagnostic) -> bool:
    return any(text in diagnostic.message for text in _AFTERTHOUGHTS)


def errors(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics that make a build fail, without those that only count others."""
    return [item for item in diagnostics if item.severity in ("error", "fatal error") and not _is_afterthought(item)]


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """One line with the first error and its place, as a line of the submission if known; empty if there is no error."""
    first = next(iter(errors(diagnostics)), None)
    if first is None:
        return ""
    is_installed = first.file.startswith(INSTALLED)
    file, line = (first.asked_file, first.asked_line) if is_installed and first.asked_file else (first.file, first.line)
    place = f"{file}:{line}" if line is not None else file
    if first.foreign:
        return f"{place}, {NOT_ITS_OWN}: {first.message}"
    return f"line {first.source_line} ({place}): {first.message}" if first.source_line else f"{place}: {first.message}"

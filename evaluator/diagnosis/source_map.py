"""Finds the submission's line for a line of a generated file.

load_inline writes files from strings in the submission, with includes above them and bindings below. So the submission is searched for the
text of the generated line. Of several equal lines, the one with the most similar neighbours wins.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from posixpath import normpath

from evaluator.build.diagnostics.messages import errors, readable
from evaluator.build.request import BuildRequest
from evaluator.results.evidence import BuildEvidence, Diagnostic
from evaluator.submission.source import parse

MAX_CANDIDATES = 64
"""Maximum number of equal lines whose neighbours are compared."""
NEIGHBOURS = 12
"""Lines above and below that are compared, or tried if the line itself is not found."""
LEAST_CHARS_WITHIN = 8
"""Shorter texts occur in unrelated lines."""
MAX_EXCERPT_CHARS = 160

_OPENING = re.compile(r"""^.*?[rRbBfFuU]{0,2}(?:\"{3}|'{3})\\?|^\s*[rRbBfFuU]{0,2}["']""")
_CLOSING = re.compile(r"""(?:\"{3}|'{3}).*$|(?:\\n)?["'][\s,)+\\]*$""")
_TRIPLE = re.compile(r"\"{3}|'{3}")
_BINDING = re.compile(r'^\s*m\.def\("(?P<name>[^"]+)"')
_SEMICOLON = re.compile(r"^expected .*;")
_SYMBOL = re.compile(
    r"(?:undefined reference to|multiple definition of|^Entry function|^Function) [`'‘](?P<name>[\w:~]+)|undefined symbol: (?P<mangled>\S+)"
)


@dataclass(frozen=True)
class SourceLine:
    """A line of the submission's file, and its text."""

    line: int
    text: str


class SourceMap:
    """Finds lines of one submission by their text."""

    def __init__(self, code: str, first_line: int = 1) -> None:
        """`first_line`: the line of the file, from 1, on which `code` begins."""
        self._lines = code.split("\n")
        self.first_line = self._first = first_line
        self._plain = [_plain(line) for line in self._lines]
        self._found: dict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(self._plain):
            if text and len(self._found[text]) < MAX_CANDIDATES:
                self._found[text].append(number)

    def place(self, text: Sequence[str], line: int) -> SourceLine | None:
        """The origin of line `line`, from 1, of a generated file with these lines; None if it is not found."""
        if not 1 <= line <= len(text):
            return None
        if binding := _BINDING.match(text[line - 1]):
            return self.quoted(binding["name"])
        plain = [_plain(item) for item in text[max(line - 1 - NEIGHBOURS, 0) : line + NEIGHBOURS]]
        at = min(line - 1, NEIGHBOURS)
        number = self._best(plain, at)
        if number is None:
            number = self._within(plain[at])
        if number is None:
            number = self._beside(plain, at)
        return None if number is None else self._at(number)

    def line(self, number: int) -> SourceLine | None:
        """Line `number` of the submission's file."""
        at = number - self._first
        return self._at(at) if 0 <= at < len(self._lines) else None

    def in_string(self, text: str, line: int) -> SourceLine | None:
        """The origin of line `line`, from 1, of a string, by its text; None if it is not found."""
        found = self._found.get(_plain(text), [])
        opened = [number for number in found if number - line + 1 >= 0 and _TRIPLE.search(self._lines[number - line + 1])]
        number = next(iter(opened or found), None)
        return None if number is None else self._at(number)

    def named(self, name: str) -> SourceLine | None:
        """The first line of Python that uses the name; None if there is none, or the code does not parse."""
        try:
            nodes = list(ast.walk(parse("\n".join(self._lines))))
        except SyntaxError:
            return None
        found = [node.lineno for node in nodes if isinstance(node, ast.Name) and node.id == name]
        return self._at(min(found) - 1) if found else None

    def quoted(self, name: str) -> SourceLine | None:
        """The last line with the name in quotes, as in `functions=["name"]`."""
        pattern = re.compile(rf"""["']{re.escape(name)}["']""")
        number = next((number for number in reversed(range(len(self._lines))) if pattern.search(self._lines[number])), None)
        return None if number is None else self._at(number)

    def declared(self, name: str) -> SourceLine | None:
        """The first line that declares or calls the function."""
        pattern = re.compile(rf"\b{re.escape(name.rsplit('::', 1)[-1])}\s*\(")
        number = next((number for number, line in enumerate(self._lines) if pattern.search(line)), None)
        return None if number is None else self._at(number)

    def _at(self, number: int) -> SourceLine:
        return SourceLine(number + self._first, self._lines[number])

    def _best(self, plain: Sequence[str], at: int) -> int | None:
        """The line equal to plain[at] with the neighbours most similar to those in `plain`."""
        return max(self._found.get(plain[at], ()), key=lambda number: self._likeness(plain, at, number), default=None)

    def _likeness(self, plain: Sequence[str], at: int, number: int) -> int:
        return sum(
            NEIGHBOURS + 1 - abs(offset - at)
            for offset, text in enumerate(plain)
            if text and 0 <= number + offset - at < len(self._plain) and text == self._plain[number + offset - at]
        )

    def _within(self, text: str) -> int | None:
        """The first line that contains the text, such as a short string beside its name."""
        if len(text) < LEAST_CHARS_WITHIN:
            return None
        return next((number for number, line in enumerate(self._lines) if text in line), None)

    def _beside(self, plain: Sequence[str], at: int) -> int | None:
        """The position of plain[at], counted from the nearest neighbour that is found: the submission formatted the line itself."""
        for distance in range(1, NEIGHBOURS):
            for offset in (-distance, distance):
                if 0 <= at + offset < len(plain) and len(plain[at + offset]) > 3:
                    number = self._best(plain, at + offset)
                    if number is not None and 0 <= number - offset < len(self._lines):
                        return number - offset
        return None


def located(build: BuildEvidence, request: BuildRequest, source: SourceMap) -> BuildEvidence:
    """The evidence, with the submission's line and an excerpt added to each diagnostic where they are found.

    Errors in files that are not the submission's are marked, and warnings about them dropped: the submission can't fix them.
    """
    texts = {file.name: file.text for file in (*request.sources, *request.headers)}
    found = (_located(item, texts, source) for item in build.diagnostics)
    return build.model_copy(update={"diagnostics": tuple(item for item in found if not item.foreign or errors([item]))})


def _located(item: Diagnostic, texts: Mapping[str, str], source: SourceMap) -> Diagnostic:
    file, line, column = normpath(item.file), item.line, item.column
    if file in texts:
        # It is where the error is, also in a folder with the name of an installed one.
        item = item.model_copy(update={"asked_file": None, "asked_line": None})
    elif item.asked_file:
        file, line, column = normpath(item.asked_file), item.asked_line, None
    text = texts[file].split("\n") if file in texts else None
    if text is None or line is None:
        placed = _by_symbol(item, source)
        return placed.model_copy(update={"foreign": True}) if line is not None and placed.source_line is None else placed
    if _SEMICOLON.match(item.message) and column is not None:
        line, column = _end_before(text, line, column)
    place = source.place(text, line)
    excerpt = _excerpt(text[line - 1] if 1 <= line <= len(text) else "", column)
    return item.model_copy(update={"source_line": place.line if place else None, "excerpt": excerpt})


def _by_symbol(item: Diagnostic, source: SourceMap) -> Diagnostic:
    """Place a message by the symbol that it names: messages of linkers and of ptxas have no line."""
    match = _SYMBOL.search(item.message)
    place = source.declared(match["name"] or readable(match["mangled"])) if match else None
    return item.model_copy(update={"source_line": place.line, "excerpt": _excerpt(place.text, None)}) if place else item


def _end_before(text: Sequence[str], line: int, column: int) -> tuple[int, int]:
    """The place of a missing semicolon: if the compiler names the start of a line, the end of the code above it."""
    if not 1 <= line <= len(text) or text[line - 1][: column - 1].strip():
        return line, column
    for above in range(line - 1, max(line - 1 - NEIGHBOURS, 0), -1):
        code = text[above - 1].split("//", 1)[0].rstrip()
        if code and not code.lstrip().startswith("#"):
            return above, len(code) + 1
    return line, column


def _excerpt(text: str, column: int | None) -> str:
    indent = len(text) - len(text.lstrip())
    line = text.strip()[:MAX_EXCERPT_CHARS]
    at = -1 if column is None else column - 1 - indent
    return f"{line}\n{' ' * at}^" if 0 <= at <= len(line) and line else line


def _plain(line: str) -> str:
    """A line without the parts that a Python string adds: quotes, escapes, doubled braces of an f-string."""
    line = line[:500]
    # Three quotes at the end of a line of code close a string, so the text before them is code.
    text = _CLOSING.sub("", _OPENING.sub("", line, count=1), count=1) or _CLOSING.sub("", line, count=1)
    return text.replace("\\\\", "\\").replace("{{", "{").replace("}}", "}").strip()

"""A source after the preprocessor: the tokens of the request's own files, and the text of all other headers."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

_MARK = re.compile(r'(?P<line>\d{1,9}) "(?P<file>(?:\\.|[^"\\])*)"[ \d]*$')
_TOKEN = re.compile(
    r"""(?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"\w*)
      | (?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<mark>\.\.\.|<<=|>>=|->\*|<=>|::|->|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|[][(){}<>;:?.,+\-*/%&|^=!~])
      | (?P<other>\S)
    """,
    re.VERBOSE,
)
_CLOSING = {")": "(", "]": "[", "}": "{"}
_BRACE = re.compile(r"[{}]")
_SAME_SCOPE = re.compile(r'(?:\bextern\s+""|\bnamespace|\binline\s+namespace\s+\w+|\benum\b[^;{}()]*)\s*\Z')
"""Constructs whose braces open no new scope for names: a linkage, an unnamed or inline namespace, an enumeration."""
_MAX_HEAD_CHARS = 300
_MACRO = re.compile(r"^#(?:define|undef) (\w+)", re.MULTILINE)
_LITERAL = re.compile(r""""(?:\\.|[^"\\\n])*"|\B'(?:\\.|[^'\\\n])+'""")
_PROGRAM = re.compile(r"^[^\S\n]*[^\s#]", re.MULTILINE)
"""The beginning of a line that is neither empty nor a directive."""
_NO_IDENTIFIER = bytes(code if chr(code).isalnum() or chr(code) == "_" or code >= 0x80 else 0x20 for code in range(256))


MAX_OWN_CHARS = 1 << 19
"""Maximum length of a request's own text after macro expansion: reading it token by token costs the builder's process time and memory."""


class Token(NamedTuple):
    """One token of the request's own text, macros expanded."""

    text: str
    kind: str
    """string, character, number, word, mark (of C++), or other: not a C++ token, such as an unclosed quote."""
    file: str
    line: int
    """The preprocessor's line: that of the file, except after a macro call that spans several lines."""


@dataclass(frozen=True)
class Unit:
    """The text that a compiler reads for one source."""

    own: tuple[Token, ...]
    foreign: tuple[tuple[int, str], ...] = field(repr=False)
    """All other text, in order, each piece with the number of own tokens before it; with macro names if the preprocessor listed them."""

    @cached_property
    def headers(self) -> str:
        """The whole text of `foreign`."""
        return "\n".join(text for _, text in self.foreign)

    @cached_property
    def gaps(self) -> frozenset[int]:
        """The positions in `own` that header code precedes."""
        return frozenset(place for place, text in self.foreign if _PROGRAM.search(text))

    @cached_property
    def header_words(self) -> frozenset[str]:
        """All identifiers in `headers`, including those in literals."""
        return _words(self.headers)

    @cached_property
    def global_words(self) -> frozenset[str]:
        """Those that may be names of the global namespace, or of macros."""
        text = _LITERAL.sub('""', self.headers)
        visible: list[str] = _MACRO.findall(text)
        scopes: list[bool] = []
        hidden, start = 0, 0
        for match in _BRACE.finditer(text):
            if match[0] == "{":
                if not hidden:
                    visible.append(text[start : match.start()])
                same = not hidden and bool(_SAME_SCOPE.search(text, max(start, match.start() - _MAX_HEAD_CHARS), match.start()))
                scopes.append(same)
                hidden += not same
            else:
                if not hidden:
                    visible.append(text[start : match.start()])
                hidden -= bool(scopes) and not scopes.pop()
            start = match.end()
        return _words("\n".join([*visible, text[start:]]))

    @cached_property
    def headers_are_balanced(self) -> bool:
        """Whether no header opens a bracket that is closed outside it, judged by counting."""
        between: dict[int, list[str]] = {}
        for place, text in self.foreign:
            between.setdefault(place, []).append(text)
        texts = (_LITERAL.sub('""', "\n".join(texts)) for texts in between.values())
        return all(text.count(opening) == text.count(closing) for text in texts for closing, opening in _CLOSING.items())


def read_unit(text: str, own_files: Collection[str]) -> Unit | None:
    """`text` is the output of g++ -E, with or without -dN. Files of the request are named without a folder. None if their text is longer
    than MAX_OWN_CHARS."""
    own: list[Token] = []
    room = MAX_OWN_CHARS
    foreign: list[tuple[int, str]] = []
    for piece in f"\n{text}".split("\n# "):
        head, _, rest = piece.partition("\n")
        mark = _MARK.match(head)
        if mark is None:
            foreign.append((len(own), piece))
        elif (file := mark["file"].removeprefix("./")) in own_files:
            room -= len(rest)
            if room < 0:
                return None
            own += _tokens(rest, file, int(mark["line"]))
        else:
            foreign.append((len(own), rest))
    return Unit(tuple(own), tuple(foreign))


def matching_brackets(tokens: Sequence[Token]) -> tuple[dict[int, int], int | None]:
    """For each closing bracket, the position of its opening one, up to the first without one; and the beginning of the first declaration
    with unmatched brackets, or None."""
    opening: dict[int, int] = {}
    stack: list[int] = []
    complete = 0
    for place, token in enumerate(tokens):
        if token.kind != "mark":
            continue
        if token.text in _CLOSING.values():
            stack.append(place)
        elif expected := _CLOSING.get(token.text):
            if not stack or tokens[stack[-1]].text != expected:
                return opening, stack[0] if stack else complete
            opening[place] = stack.pop()
            complete = place + 1 if token.text == "}" and not stack else complete
    return opening, stack[0] if stack else None


def _words(text: str) -> frozenset[str]:
    found = frozenset(text.encode("utf-8", "replace").translate(_NO_IDENTIFIER).split())
    return frozenset(word.decode("utf-8", "replace") for word in found)


def _tokens(text: str, file: str, first_line: int) -> Iterator[Token]:
    for number, line in enumerate(text.split("\n"), first_line):
        if line.lstrip().startswith("#"):
            continue  # a pragma, or the name of a macro
        for match in _TOKEN.finditer(line):
            yield Token(match[0], str(match.lastgroup), file, number)

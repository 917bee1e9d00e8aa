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
    headers: str = field(repr=False)
    """All other text, in order; with macro names if the preprocessor listed them."""

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


def read_unit(text: str, own_files: Collection[str]) -> Unit | None:
    """`text` is the output of g++ -E, with or without -dN. Files of the request are named without a folder. None if their text is longer
    than MAX_OWN_CHARS."""
    own: list[Token] = []
    room = MAX_OWN_CHARS
    others: list[str] = []
    for piece in f"\n{text}".split("\n# "):
        head, _, rest = piece.partition("\n")
        mark = _MARK.match(head)
        if mark is None:
            others.append(piece)
        elif (file := mark["file"].removeprefix("./")) in own_files:
            room -= len(rest)
            if room < 0:
                return None
            own += _tokens(rest, file, int(mark["line"]))
        else:
            others.append(rest)
    return Unit(tuple(own), "\n".join(others))


def matching_brackets(tokens: Sequence[Token]) -> dict[int, int]:
    """For each closing bracket, the position of its opening one, up to the first without one."""
    opening: dict[int, int] = {}
    stack: list[int] = []
    for place, token in enumerate(tokens):
        if token.kind != "mark":
            continue
        if token.text in _CLOSING.values():
            stack.append(place)
        elif expected := _CLOSING.get(token.text):
            if not stack or tokens[stack[-1]].text != expected:
                break
            opening[place] = stack.pop()
    return opening


def _words(text: str) -> frozenset[str]:
    found = frozenset(text.encode("utf-8", "replace").translate(_NO_IDENTIFIER).split())
    return frozenset(word.decode("utf-8", "replace") for word in found)


def _tokens(text: str, file: str, first_line: int) -> Iterator[Token]:
    for number, line in enumerate(text.split("\n"), first_line):
        if line.lstrip().startswith("#"):
            continue  # a pragma, or the name of a macro
        for match in _TOKEN.finditer(line):
            yield Token(match[0], str(match.lastgroup), file, number)

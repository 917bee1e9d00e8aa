"""A source after the preprocessor: the tokens of the request's own files, and the text of all other headers."""

import re
from collections.abc import Collection, Iterator
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
_BRACE = re.compile(r"[{}]")
_SAME_SCOPE = re.compile(r'(?:\bextern\s+""|\bnamespace|\binline\s+namespace\s+\w+|\benum\b[^;{}()]*)\s*\Z')
"""What a brace belongs to behind which names are those of the scope around it: a linkage, a namespace without a name, an enumeration."""
_MAX_HEAD_CHARS = 300
_MACRO = re.compile(r"^#(?:define|undef) (\w+)", re.MULTILINE)
_LITERAL = re.compile(r""""(?:\\.|[^"\\\n])*"|\B'(?:\\.|[^'\\\n])+'""")
_NO_IDENTIFIER = bytes(code if chr(code).isalnum() or chr(code) == "_" or code >= 0x80 else 0x20 for code in range(256))


class Token(NamedTuple):
    """One token of the request's own text, macros expanded."""

    text: str
    kind: str
    """string, character, number, word, mark (of C++), or other: nothing that C++ knows, as a quote that nothing closes."""
    file: str
    line: int
    """By the preprocessor's count: that of the file itself, except behind a call of a macro that goes over several lines."""


@dataclass(frozen=True)
class Unit:
    """What a compiler reads in place of one source."""

    own: tuple[Token, ...]
    headers: str = field(repr=False)
    """Text of all that is not the request's own, and the names of macros where the preprocessor listed them."""

    @cached_property
    def header_words(self) -> frozenset[str]:
        """All identifiers in `headers`, those in literals too."""
        return _words(self.headers)

    @cached_property
    def global_words(self) -> frozenset[str]:
        """Those that may be names of the global namespace, or of macros."""
        text = self._without_literals
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
        """Whether no header opens a bracket that the request's own text has to close, as far as counting tells."""
        text = self._without_literals
        return all(text.count(opening) == text.count(closing) for opening, closing in ("()", "[]", "{}"))

    @cached_property
    def _without_literals(self) -> str:
        return _LITERAL.sub('""', self.headers)


def read_unit(text: str, own_files: Collection[str]) -> Unit:
    """`text` is what g++ -E writes, with or without -dN. Files of the request are named without a folder."""
    own: list[Token] = []
    headers: list[str] = []
    for piece in f"\n{text}".split("\n# "):
        head, _, rest = piece.partition("\n")
        mark = _MARK.match(head)
        if mark is None:
            headers.append(piece)
        elif mark["file"] in own_files:
            own += _tokens(rest, mark["file"], int(mark["line"]))
        else:
            headers.append(rest)
    return Unit(tuple(own), "\n".join(headers))


def _words(text: str) -> frozenset[str]:
    found = frozenset(text.encode("utf-8", "replace").translate(_NO_IDENTIFIER).split())
    return frozenset(word.decode("utf-8", "replace") for word in found)


def _tokens(text: str, file: str, first_line: int) -> Iterator[Token]:
    for number, line in enumerate(text.split("\n"), first_line):
        if line.lstrip().startswith("#"):
            continue  # a pragma, or the name of a macro
        for match in _TOKEN.finditer(line):
            yield Token(match[0], str(match.lastgroup), file, number)

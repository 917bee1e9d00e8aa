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
        words = self.headers.encode("utf-8", "replace").translate(_NO_IDENTIFIER).split()
        return frozenset(word.decode("utf-8", "replace") for word in words)


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


def _tokens(text: str, file: str, first_line: int) -> Iterator[Token]:
    for number, line in enumerate(text.split("\n"), first_line):
        if line.lstrip().startswith("#"):
            continue  # a pragma, or the name of a macro
        for match in _TOKEN.finditer(line):
            yield Token(match[0], str(match.lastgroup), file, number)

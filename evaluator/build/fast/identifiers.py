"""Which words a C++ or CUDA source uses, read without a compiler."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evaluator.build.diagnostics.failure_category import unspliced

_TOKEN = re.compile(
    r"""//[^\n]*
      | /\*.*?(?:\*/|\Z)
      | (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)
      | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*(?:"|$)
      | (?:u8|[uUL])?'(?:\\.|[^'\\\n])*(?:'|$)
      | \.?\d(?:'?[\w.])*
      | (?P<token>[^\W\d]\w*|->|::|\#\#|%:|\S)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_INCLUDE = re.compile(r"""^[^\S\n]*\#[^\S\n]*include[^\S\n]*[<"](?:torch|ATen|c10|caffe2|pybind11)/""", re.MULTILINE)
_DEFINE = re.compile(r"^[^\S\n]*\#[^\S\n]*(?:define|undef)[^\S\n]+(?!\w+_(?:H|HH|HPP|CUH)_*\b)\w", re.MULTILINE)
FOREIGN_NAMESPACES = frozenset(("std", "cooperative_groups", "nvcuda", "cub", "thrust", "cute", "cutlass"))
"""`using` one of these whole namespaces adds no name of PyTorch's."""


@dataclass(frozen=True)
class Identifiers:
    """Identifiers of some texts, without those in comments and literals."""

    used: frozenset[str]
    """All of them, including those in preprocessor lines."""
    named: frozenset[str]
    """Those that occur not only as members, such as `size` in `x.size(0)`, or in `std::`."""
    called: frozenset[str]
    """Those of `named` that occur before `(` or `<`, or after `::`."""
    hidden: bool
    """Whether words missing from `used` may arise, by token pasting or escapes."""
    opens_namespace: bool
    """Whether a `using namespace` names a namespace that is neither in FOREIGN_NAMESPACES nor defined in the texts."""
    early_macros: bool
    """Whether a macro, other than a guard, is defined before an include of PyTorch's headers, which it may change."""


def read_identifiers(texts: Iterable[str]) -> Identifiers:
    """The words of all `texts` together."""
    used: set[str] = set()
    named: set[str] = set()
    called: set[str] = set()
    opened: set[str] = set()
    defined: set[str] = set()
    aliases: set[str] = set()
    hidden = early_macros = False
    pastes = 0
    for text in texts:
        includes = [match.start() for match in _INCLUDE.finditer(text)]
        early_macros = early_macros or bool(includes and _DEFINE.search(text, 0, includes[-1]))
        before, last = "", ""
        for token in _tokens(text):
            if token[0].isalpha() or token[0] == "_":
                used.add(token)
                standard = last == "::" and before == "std"
                if last not in (".", "->") and not standard:
                    named.add(token)
                if last == "::" and not standard:
                    called.add(token)
                if last == "namespace":
                    (opened if before == "using" else defined).add(token)
            elif token in ("(", "<") and last in named and before not in (".", "->"):
                called.add(last)
            elif token == "=" and before == "namespace":
                aliases.add(last)
            # `##__VA_ARGS__` removes a comma and makes no word.
            pastes += (token == "##") - (last == "##" and token == "__VA_ARGS__")
            hidden = hidden or token in ("%:", "\\")
            before, last = last, token
    known = FOREIGN_NAMESPACES | (defined - aliases)
    return Identifiers(frozenset(used), frozenset(named), frozenset(called), hidden or pastes > 0, not opened <= known, early_macros)


def _tokens(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(unspliced(text)):
        if token := match["token"]:
            yield token

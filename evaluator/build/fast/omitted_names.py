"""Names that PyTorch's `torch/extension.h` declares and the cut-down headers don't.

Without such a name, a source that uses it may mean something else: an `#ifdef` takes the other branch, a call finds another overload, a
macro's name becomes a variable. So each such word either adds the part that declares it or excludes the cut-down headers.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict

from evaluator.build.fast.identifiers import Identifiers
from evaluator.build.fast.lean_headers import PART_OF_WORD, PARTS, HeaderCutter, SourceHeaders
from evaluator.build.fast.number_types import unnamed

NEVER = -1
"""Instead of a part's number: no part declares it."""
OUR_WORDS = frozenset(("AT_PER_OPERATOR_HEADERS", "assay_lean"))
"""Names that the cut-down headers define and PyTorch's own don't."""
NAMESPACES = frozenset(("at", "c10", "torch"))

_MARK = re.compile(r'^# \d+ "(?P<file>[^"]*)"', re.MULTILINE)
_ITEM = re.compile(
    r"""^\#\ \d+\ "(?P<file>[^"]*)".*$
      | ^\#define\ (?P<macro>\w+).*$
      | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
      | \b(?P<keyword>namespace)\b\s*(?P<name>[\w:]*)[^{;=]*(?P<open>[{;=])
      | \bextern\ "C"\s*(?P<linkage>\{)
      | (?P<brace>[{}])
      | (?<=[\w&*>]\ )(?P<function>\w+)\s*\((?P<arguments>[^(){};]*)
    """,
    re.VERBOSE | re.MULTILINE,
)

_KEYWORDS = frozenset(("alignas", "constexpr", "decltype", "noexcept", "operator", "requires", "throw", "void", "__attribute__"))


class OmittedNames(BaseModel):
    """Identifiers with a meaning only in PyTorch's own headers, each with the part that declares it, or NEVER."""

    model_config = ConfigDict(frozen=True)

    macros: dict[str, int]
    functions: dict[str, int]
    """Functions of NAMESPACES: a call with PyTorch's arguments finds them without a namespace."""
    number_macros: frozenset[str] | None = None
    """Macros that the conversions of PyTorch's number types to CUDA's define; None if there is no nvcc to ask."""

    def headers_for(self, identifiers: Identifiers, cutter: HeaderCutter, *, cuda: bool = False) -> SourceHeaders | None:
        """Headers that mean the same as PyTorch's own to a source of these words, in CUDA or C++, if it compiles with them; None if that is
        not certain."""
        if identifiers.hidden or identifiers.opens_namespace or identifiers.early_macros or identifiers.used & OUR_WORDS:
            return None
        found = [self.macros[word] for word in identifiers.used & self.macros.keys()]
        found += [self.functions[word] for word in identifiers.called & self.functions.keys() if not cutter.has_operator(word)]
        found += [PART_OF_WORD[word] for word in identifiers.used & PART_OF_WORD.keys()]
        if NEVER in found:
            return None
        headers = cutter.for_source(identifiers, found)
        if cuda and unnamed(identifiers, found, self.number_macros):
            return replace(headers, files=headers.files | cutter.plain_numbers)
        return headers


@dataclass(frozen=True)
class Preprocessed:
    """The result of one preprocessor run (-E -dD) over PyTorch's header."""

    macros: dict[str, set[str]]
    """Macro names, with the files that define them."""
    functions: dict[str, dict[str, set[str]]]
    """Function names, with the beginnings of their argument lists (which distinguish overloads), with the files that declare those."""


def read_preprocessed(text: str) -> Preprocessed:
    """Macros and functions by the header that declares them; only functions directly in NAMESPACES."""
    macros: dict[str, set[str]] = defaultdict(set)
    functions: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    scopes: list[str] = []
    file = ""
    for match in _ITEM.finditer(text):
        if (named := match["file"]) is not None:
            file = named
        elif macro := match["macro"]:
            macros[macro].add(file)
        elif match["keyword"]:
            if match["open"] == "{":
                scopes.append(match["name"] or "(anonymous)")
        elif match["linkage"]:
            scopes.append("")
        elif brace := match["brace"]:
            if brace == "{":
                scopes.append("{")
            elif scopes:
                scopes.pop()
        elif (name := match["function"]) and name not in _KEYWORDS and "".join(scopes) in NAMESPACES:
            functions[name]["".join(match["arguments"].split())].add(file)
    return Preprocessed(macros, functions)


def read_files(text: str) -> frozenset[str]:
    """The headers in preprocessed text."""
    return frozenset(_MARK.findall(text))


def compare(stock: Preprocessed, base: frozenset[str], with_part: dict[int, frozenset[str]]) -> OmittedNames:
    """The names that `stock` has and the headers in `base` don't. `with_part` has the headers that each of PARTS includes."""

    def part_of(declarations: Collection[set[str]]) -> int | None:
        if all(files & base for files in declarations):
            return None
        return next((number for number in range(len(PARTS)) if all(files & with_part[number] for files in declarations)), NEVER)

    # A macro that several files define may differ between them.
    macros = {word: part_of([{file} for file in files]) for word, files in stock.macros.items()}
    functions = {word: part_of(overloads.values()) for word, overloads in stock.functions.items()}
    return OmittedNames(
        macros={word: part for word, part in macros.items() if part is not None},
        functions={word: part for word, part in functions.items() if part is not None},
    )


def relative_to(folders: Iterable[str], text: str) -> str:
    """`text` with the paths of the headers in these folders made relative."""
    for folder in folders:
        text = text.replace(f'"{folder}/', '"')
    return text

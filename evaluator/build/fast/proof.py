"""Proves that a failure of the fast way would also occur the stock way, with the same messages.

Both ways compile the same tokens of the request's own files. Only the headers differ: the cut-down ones declare less. So a failure is
proved if it does not depend on declarations of the stock headers. The proof reads the output of the stock way's preprocessor, with the
source's own includes, so neither a macro nor `##` can hide a name. It is of an undeclared name: the compiler doesn't know `X`, the stock
headers don't contain `X`, and the message is about its first place in the whole text. Nothing before that place can have declared it. The
place itself is a use, not a declaration: the compiler read it as one, and met no error before. So the fast way had declared each name up to
there, too.

Every further error must also be proved, or follow from a proved one, so that the output is what the stock way would print. g++ suggests
names similar to a missing one: if the stock headers have another such name, there is no proof. In any other doubt, there is none either,
and the source is compiled again the stock way.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from evaluator.build.diagnostics.failure_category import names_lines, unspliced
from evaluator.build.diagnostics.messages import errors, parse
from evaluator.build.fast.scopes import enters_scope
from evaluator.build.fast.unit import Unit
from evaluator.results.evidence import Diagnostic

_OF_EDG = re.compile(r'identifier "(\w+)" is undefined|(?:namespace|class) "[^"]*" has no (?:actual )?member "(\w+)"', re.ASCII)
_OF_GNU = re.compile(
    r"""(?:'(\w+)'\ (?:was\ not\ declared\ in\ this\ scope|has\ not\ been\ declared|is\ not\ a\ member\ of\ '[^']*'
          |(?:in\ [^']*'[^']*'\ )?does\ not\ name\ a\ (?:template\ )?type)
      |'[^']*'\ has\ no\ member\ named\ '(\w+)')(?:;\ did\ you\ mean\ '[^']*'\?)?
    """,
    re.VERBOSE | re.ASCII,
)
_UNQUALIFIED = re.compile(r" was not declared in this scope|\w' does not name a ")
_FOLLOWING = re.compile('.*"<error-type>"|too (?:many|few) arguments (?:in|to) ')
"""Messages about an expression that already has an error."""
_FROM_HEADERS = re.compile(
    r"^(?:In file included| +) from [^\s:]*/|\.lean-|\brequired (?:from|by|for)\b|\bdetected (?:during|at)\b|instantiation|^/\S+?[:(]\d",
    re.MULTILINE,
)
"""Messages that involve a header, or a template that is used elsewhere."""
_READ_OTHERWISE = re.compile(r'R"|\?\?[=/\'()!<>-]|\\[uU]|\.incbin|__CUDA_ARCH')
"""Raw strings, trigraphs, escaped identifiers, and text for the device only: these are left to the compiler."""
_DEFINED = re.compile(r"^[^\S\n]*#[^\S\n]*(?:define|undef)[^\S\n]+(\w+)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
UNDECLARED = "undeclared name"


def may_be_proved(output: str, files: Collection[str], gnu: bool) -> bool:
    """Whether all errors in `output` are of a provable kind and in the request's own `files`, so that the preprocessor should run."""
    found = errors(parse(output))
    kinds = (_OF_GNU if gnu else _OF_EDG, _FOLLOWING)
    return (
        bool(found)
        and not _FROM_HEADERS.search(output)
        and all(error.file in files and error.line is not None and error.asked_file is None for error in found)
        and all(any(kind.match(error.message) for kind in kinds) for error in found)
    )


@dataclass(frozen=True)
class Failure:
    """A source that failed the fast way."""

    output: str
    """The compiler's output."""
    texts: Mapping[str, str]
    """The request's own files by name."""
    stock: Unit
    fast: Unit
    gnu: bool
    """Whether the output is g++'s, which suggests similar names. Both units then list the macro names."""

    def proof(self) -> str | None:
        """The kind of proof, such as "undeclared name", that the stock way fails with the same messages; None without proof."""
        if not may_be_proved(self.output, self.texts, self.gnu) or self._has_riddles():
            return None
        if self.stock.own != self.fast.own or enters_scope(self.stock.own, self.stock.header_words):
            return None
        found = errors(parse(self.output))
        missing: set[str] = set()
        first = self._undeclared(found[0], missing)
        return first if first and all(self._undeclared(error, missing) or self._follows(error) for error in found[1:]) else None

    def _has_riddles(self) -> bool:
        """Whether a file has words that this module reads differently from a compiler, or lines assigned to another file."""
        texts = map(unspliced, self.texts.values())
        return any(names_lines(text) or _READ_OTHERWISE.search(text) for text in texts)

    def _undeclared(self, error: Diagnostic, missing: set[str]) -> str | None:
        """`missing` holds the names that have been proved missing; this error's name is added."""
        word = self._missed(error)
        if word is None or word in missing:
            return word and UNDECLARED
        first = next((token for token in self.stock.own if token.text == word), None)
        known = word in self.stock.header_words or word in self._own_macros or self._has_suggestion(error, word)
        if first is None or (first.file, first.line) != (error.file, error.line) or known:
            return None
        missing.add(word)
        return UNDECLARED

    def _missed(self, error: Diagnostic) -> str | None:
        """The name that an error calls undeclared."""
        match = (_OF_GNU if self.gnu else _OF_EDG).fullmatch(error.message)
        return next(filter(None, match.groups())) if match else None

    def _has_suggestion(self, error: Diagnostic, word: str) -> bool:
        """Whether g++ may suggest another name for `word`, from the scope that it searched: one that only the stock headers have."""
        if not self.gnu:
            return False
        unqualified = _UNQUALIFIED.search(error.message) and not self._opens_namespace
        return resembles(word, self.stock.global_words - self.fast.global_words if unqualified else self._only_stock)

    def _follows(self, error: Diagnostic) -> bool:
        """Whether an error after a proved one has nothing to do with the stock headers' additional declarations."""
        if self._only_stock & (self._words_at(error) | set(_WORD.findall(error.message))):
            return False
        word = self._missed(error)
        return word is None or not self._has_suggestion(error, word)

    def _words_at(self, error: Diagnostic) -> set[str]:
        return {token.text for token in self.stock.own if (token.file, token.line) == (error.file, error.line)}

    @cached_property
    def _opens_namespace(self) -> bool:
        """Whether a whole namespace is made visible in another."""
        return any(word.text == "using" and name.text == "namespace" for word, name in pairwise(self.stock.own))

    @cached_property
    def _only_stock(self) -> frozenset[str]:
        return self.stock.header_words - self.fast.header_words

    @cached_property
    def _own_macros(self) -> frozenset[str]:
        return frozenset(name for text in self.texts.values() for name in _DEFINED.findall(unspliced(text)))


def resembles(word: str, names: Iterable[str]) -> bool:
    """Whether g++ may suggest one of `names` for `word`. It uses GCC's limit on edits and ignores case,
    which GCC counts as half an edit."""
    goal = word.lower()
    places: dict[str, int] = defaultdict(int)
    for place, character in enumerate(goal):
        places[character] |= 1 << place
    letters = frozenset(goal)
    for name in names:
        most = _bound(len(goal), len(name))
        if abs(len(name) - len(goal)) > most:
            continue
        candidate = name.lower()
        # Each letter that only one of them has is an edit.
        missed, added = letters.difference(candidate), frozenset(candidate).difference(letters)
        if len(missed) <= most and len(added) <= most and _distance(len(goal), places, candidate) <= most:
            return True
    return False


def _bound(goal: int, candidate: int) -> float:
    """GCC's get_edit_distance_cutoff, in edits, for names of these lengths."""
    longer = max(goal, candidate)
    if longer <= 1:
        return 0
    return max(longer // 3, 1) if abs(goal - candidate) <= 1 else 2 * (longer + 2) // 3 / 2


def _distance(length: int, places: dict[str, int], candidate: str) -> int:
    """Edits, including transpositions, between a goal of this length, given by the positions of its letters as bits, and `candidate`: by
    Hyyrö's bit vectors, one column of the usual table at a time."""
    if length == 0:
        return len(candidate)
    full, last = (1 << length) - 1, 1 << (length - 1)
    higher, lower, diagonal, before, distance = full, 0, 0, 0, length
    for character in candidate:
        match = places.get(character, 0)
        swapped = ((~diagonal & match) << 1) & before
        diagonal = ((((match & higher) + higher) ^ higher) | match | lower | swapped) & full
        more, less = (lower | ~(diagonal | higher)) & full, diagonal & higher
        distance += (more & last > 0) - (less & last > 0)
        more, less = (more << 1 | 1) & full, (less << 1) & full
        higher, lower, before = (less | ~(diagonal | more)) & full, more & diagonal, match
    return distance

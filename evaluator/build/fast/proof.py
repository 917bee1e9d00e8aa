"""When a failure of the fast way proves that the stock way fails as well, with the same messages.

Both ways compile the same tokens of the request's own files. Only the headers around them differ: the cut-down ones declare less. So a
failure is proved where it depends on nothing that the stock headers declare beyond these. There are two such proofs. Both are read from
what the preprocessor makes of the source the stock way, with the source's own includes, so that neither a macro nor `##` can hide a name:

- **undeclared name**: the compiler doesn't know `X`, `X` is nowhere in the headers of the stock way, and the message is about the first
  place of the whole text where it is. Nothing before that place can have declared it. The place itself is a use and no declaration: the
  compiler has read it as one, and it met no error before, so that each name up to there had been declared in the fast way too.
- **grammar**: the own tokens hold, where the message is, a pair that no program has (`grammar.py`), or brackets that don't match.

Every further error has to be proved as well, or to follow from one that is, so that the output is what the stock way would print. g++
suggests names that are like a missing one: where the stock headers have another such name, there is no proof. Where anything else is in
doubt, there is none either, and the source is compiled again the stock way.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from evaluator.build.diagnostics import LINE_DIRECTIVE
from evaluator.build.fast.grammar import impossible_at
from evaluator.build.fast.spelling import resembles
from evaluator.build.fast.unit import Unit
from evaluator.build.messages import errors, parse
from evaluator.results.evidence import Diagnostic

_OF_EDG = re.compile(r'identifier "(\w+)" is undefined|(?:namespace|class) "[^"]*" has no (?:actual )?member "(\w+)"', re.ASCII)
_OF_GNU = re.compile(
    r"""(?:'(\w+)'\ (?:was\ not\ declared\ in\ this\ scope|has\ not\ been\ declared|is\ not\ a\ member\ of\ '[^']*'
          |(?:in\ [^']*'[^']*'\ )?does\ not\ name\ a\ (?:template\ )?type)
      |'[^']*'\ has\ no\ member\ named\ '(\w+)')(?:;\ did\ you\ mean\ '[^']*'\?)?
    """,
    re.VERBOSE | re.ASCII,
)
_GRAMMAR = re.compile(
    r"""expected\ | stray\ | missing\ terminating\ | unterminated\ | missing\ closing\ quote | unrecognized\ token
      | a\ function-definition\ is\ not\ allowed\ here | extraneous\ """,
    re.VERBOSE,
)
_ERROR_TYPE = re.compile('.*"<error-type>"')
"""What EDG says of an expression in which it has found an error."""
_FROM_HEADERS = re.compile(
    r"^In file included|^ +from |\.lean-|\brequired (?:from|by|for)\b|\bdetected (?:during|at)\b|instantiation|^/\S+?[:(]\d",
    re.MULTILINE,
)
"""Messages in which a header has a part, or a template that is used somewhere."""
_READ_OTHERWISE = re.compile(r'R"|\?\?[=/\'()!<>-]|\\[uU]|\.incbin')
"""Raw strings, trigraphs and escaped identifiers: they are left to the compiler."""
_DEFINED = re.compile(r"^[^\S\n]*#[^\S\n]*(?:define|undef)[^\S\n]+(\w+)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")


def may_be_proved(output: str, files: Collection[str], gnu: bool) -> bool:
    """Whether all errors in `output` are of a provable kind and in the request's own `files`: worth asking the preprocessor."""
    found = errors(parse(output))
    kinds = (_OF_GNU if gnu else _OF_EDG, _GRAMMAR, _ERROR_TYPE)
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
    """What the compiler said there."""
    texts: Mapping[str, str]
    """The request's own files by name."""
    stock: Unit
    fast: Unit
    gnu: bool
    """Whether the output is g++'s, which suggests names in place of one that it misses. Both units list the names of macros then."""

    def proof(self) -> str | None:
        """What proves that the stock way fails with the same messages, as in "undeclared name"; None where nothing does."""
        if not may_be_proved(self.output, self.texts, self.gnu) or self._has_riddles():
            return None
        if self.stock.own != self.fast.own or self._reopens_namespace():
            return None
        found = errors(parse(self.output))
        missing: set[str] = set()
        proofs = [self._undeclared(error, missing) or self._grammar(error) for error in found]
        follow = all(proof or self._follows(error) for proof, error in zip(proofs, found, strict=True))
        return proofs[0] if follow else None

    def _has_riddles(self) -> bool:
        """Whether a file has words that are read here otherwise than by a compiler, or lines that it calls another file's."""
        texts = [text.replace("\\\n", "") for text in self.texts.values()]
        return any(LINE_DIRECTIVE.search(text) or _READ_OTHERWISE.search(text) for text in texts)

    def _reopens_namespace(self) -> bool:
        """Whether the source declares something in a namespace of the headers, where names mean what those declare."""
        words = [token.text for token in self.stock.own]
        return any(
            word == "namespace" and words[max(place - 1, 0)] != "using" and name in self.stock.header_words
            for place, (word, name) in enumerate(pairwise(words))
        )

    def _undeclared(self, error: Diagnostic, missing: set[str]) -> str | None:
        """`missing`: the names of which it has been proved, to which this one is added."""
        match = (_OF_GNU if self.gnu else _OF_EDG).fullmatch(error.message)
        word = match and next(filter(None, match.groups()))
        if not word:
            return None
        if word not in missing:
            first = next((token for token in self.stock.own if token.text == word), None)
            known = word in self.stock.header_words or word in self._own_macros
            if first is None or (first.file, first.line) != (error.file, error.line) or known:
                return None
            if self.gnu and resembles(word, self._only_stock):
                return None
            missing.add(word)
        return "undeclared name"

    def _grammar(self, error: Diagnostic) -> str | None:
        if error.line is None or not _GRAMMAR.match(error.message):
            return None
        return impossible_at(self.stock.own, error.file, error.line)

    def _follows(self, error: Diagnostic) -> bool:
        """Whether an error behind one that is proved depends on nothing that only the stock headers declare."""
        if not _GRAMMAR.match(error.message) and not _ERROR_TYPE.match(error.message):
            return False
        here = {token.text for token in self.stock.own if (token.file, token.line) == (error.file, error.line)}
        return not (here | set(_WORD.findall(error.message))) & self._only_stock

    @cached_property
    def _only_stock(self) -> frozenset[str]:
        return self.stock.header_words - self.fast.header_words

    @cached_property
    def _own_macros(self) -> frozenset[str]:
        return frozenset(name for text in self.texts.values() for name in _DEFINED.findall(text.replace("\\\n", "")))

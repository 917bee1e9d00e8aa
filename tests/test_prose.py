"""How long the documents and their sentences are, and which words they and the code's texts avoid.

`python -m tests.test_prose` prints the figures of each document.
"""

import ast
import io
import re
import statistics
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.shipped import ROOT

pytestmark = pytest.mark.slow(8)

BRIEF_DOCUMENTS = [ROOT / "client/README.md", ROOT / "submissions/README.md"]
"""READMEs of folders, which may have few sentences."""
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *BRIEF_DOCUMENTS,
]
MOST_WORDS = 20_000
"""All documents together have fewer outside code."""
LEAST_SENTENCES, BRIEF_SENTENCES = 21, 3
"""A document has at least so many, so that its mean says something; a brief one, so many."""
README_WORDS = 900
"""README has fewer, code included, as `wc -w` counts them."""
MEAN_WORDS = 20
"""The mean sentence is shorter."""
LONGEST_WORDS = 45
"""No sentence is longer."""
LEAST_CELL_WORDS = 4
"""A table cell of fewer words is a name or a figure, and no sentence."""
PACKAGES = ("assay", "benchmarks", "client", "command", "configuration", "db", "evaluator", "reference", "tests", "web")
"""Folders whose docstrings and comments are checked, except submissions of corpora."""
RIDDLES = {r"\bwhoever\b": "name the actor: the judge, the worker, a user"}
"""What no document, docstring or comment has: a pattern, in any case, and what to write instead."""
RIDDLE_OPENINGS = {
    r"Who\b": "begin with the actor: 'A process that …'",
    r"Whoever\b": "begin with the actor: 'A process that …'",
    r"Of\b": "begin with the thing: 'Maximum per launch.', not 'Of one launch.'",
    r"What it\b": "begin with the thing, or with the verb: 'Categories that …', 'Return …'",
    r"The same\b": "say what it is or does: a docstring is read without its neighbour",
    r"As of\b": "say which interface it implements, or what it does",
}
"""How no docstring begins, of a constant or a field neither: a pattern, and what to write instead."""

_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->|<[^>]+>", re.DOTALL)
_CODE_LINE = re.compile(r"^(?: {4}|\t)")
_TABLE_LINE = re.compile(r"^\s*\|(.*)\|\s*$")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_SEPARATOR = re.compile(r"^[\s|:-]+$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+|^\s*>\s?")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE_SPAN = re.compile(r"(`+).+?\1")
_END = re.compile(r"""(?<=[.!?])[*_)"”]*\s+(?=["“(*_]*[A-Z\d`])""")


@dataclass(frozen=True)
class Prose:
    """The sentences of one document. Inline code counts as one word."""

    words: int
    """Words of the whole file, as `wc -w` counts them."""
    plain_words: int
    """Words with a letter or a digit, outside code blocks."""
    text: tuple[str, ...]
    """Sentences of paragraphs and list items."""
    cells: tuple[str, ...]
    """Sentences of table cells."""

    @property
    def sentences(self) -> tuple[str, ...]:
        return self.text + self.cells

    @property
    def longest(self) -> str:
        return max(self.sentences, key=word_count)


def mean_words(sentences: Sequence[str]) -> float:
    return statistics.fmean(map(word_count, sentences))


def word_count(text: str) -> int:
    """Words of a text: what stands between spaces and has a letter or a digit."""
    return sum(any(character.isalnum() for character in word) for word in text.split())


def plain_word_count(text: str) -> int:
    """Words outside code blocks and comments, as `word_count` counts them."""
    lines = _COMMENT.sub("", _FENCE.sub("\n", text)).splitlines()
    return sum(word_count(line) for line in lines if not _CODE_LINE.match(line))


def prose_of(text: str) -> Prose:
    """The sentences of a Markdown document, without headings, code blocks and link targets."""
    found: dict[bool, list[str]] = {False: [], True: []}
    for is_cell, piece in _pieces(_COMMENT.sub("", _FENCE.sub("\n", text)).splitlines()):
        found[is_cell] += [sentence for sentence in _END.split(piece) if word_count(sentence)]
    return Prose(len(text.split()), plain_word_count(text), tuple(found[False]), tuple(found[True]))


def _pieces(lines: list[str]) -> Iterator[tuple[bool, str]]:
    """Paragraphs and list items, each on one line, and table cells; with whether it is a cell."""
    open_piece: list[str] = []
    is_after_blank = True
    for raw in [*lines, ""]:
        line = _CODE_SPAN.sub("code", _LINK.sub(r"\1", raw))
        row, item = _TABLE_LINE.match(line), _ITEM.match(line)
        is_code = bool(_CODE_LINE.match(line)) and is_after_blank and not item
        is_apart = not line.strip() or is_code or line.startswith("#") or row
        if (is_apart or item) and open_piece:
            yield False, " ".join(open_piece)
            open_piece = []
        if row and not _SEPARATOR.match(line):
            yield from ((True, cell.strip()) for cell in _CELL_BORDER.split(row[1]) if word_count(cell) >= LEAST_CELL_WORDS)
        elif not is_apart:
            open_piece.append(_ITEM.sub("", line).strip())
        is_after_blank = not line.strip() or is_code


def read(path: Path) -> Prose:
    return prose_of(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_sentences_are_short(path: Path) -> None:
    prose = read(path)
    assert len(prose.sentences) >= (BRIEF_SENTENCES if path in BRIEF_DOCUMENTS else LEAST_SENTENCES)
    assert word_count(prose.longest) <= LONGEST_WORDS, prose.longest
    assert mean_words(prose.sentences) < MEAN_WORDS
    assert mean_words(prose.text) < MEAN_WORDS, "short table cells don't make up for long paragraphs"


def test_the_documents_are_short() -> None:
    counts = {path.relative_to(ROOT).as_posix(): read(path).plain_words for path in DOCUMENTS}
    assert sum(counts.values()) < MOST_WORDS, counts
    assert read(ROOT / "README.md").words < README_WORDS


def test_what_counts_as_a_sentence() -> None:
    text = """# A heading is none

The judge times `assay run a b c` calls. It stores 3.5 ms,
as [a link](target.md#with-words) says (see it). Done!

    code is none. Not one.

| name | what it is about, in words |
| --- | --- |
| `x` | A cell holds one sentence. Or it holds two. |

- An item without a full stop
- Another
  item
```sh
no. Code.
```
"""
    prose = prose_of(text)
    assert prose.text == (
        "The judge times code calls.",
        "It stores 3.5 ms, as a link says (see it).",
        "Done!",
        "An item without a full stop",
        "Another item",
    )
    assert prose.cells == ("what it is about, in words", "A cell holds one sentence.", "Or it holds two.")
    assert word_count("It stores 3.5 ms – twice.") == 5


def test_words_outside_code_are_counted() -> None:
    text = "# Times\n\n<!-- no -->\nIt stores `3.5 ms` – 20 times.\n\n    no code\n\n```sh\nno code\n```\n| a | cell |\n"
    assert plain_word_count(text) == len(["Times", "It", "stores", "`3.5", "ms`", "20", "times.", "a", "cell"])


def texts_of(source: str) -> Iterator[tuple[int, bool, str]]:
    """Docstrings, also those of constants and fields, and comments of a Python file: line, whether a docstring, text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, True, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], False, token.string


def riddles(line: int, text: str, is_docstring: bool = False) -> Iterator[tuple[int, str]]:
    """Lines of a text, which begins at `line`, with what to write instead."""
    for pattern, reason in RIDDLES.items():
        yield from ((line + text.count("\n", 0, hit.start()), reason) for hit in re.finditer(pattern, text, re.IGNORECASE))
    if is_docstring:
        yield from ((line, reason) for pattern, reason in RIDDLE_OPENINGS.items() if re.match(pattern, text.lstrip()))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_documents_have_no_riddles(path: Path) -> None:
    assert not [f"{path.name}:{line}: {reason}" for line, reason in riddles(1, path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_and_comments_have_no_riddles(package: str) -> None:
    files = [path for path in sorted((ROOT / package).rglob("*.py")) if "corpus" not in path.parts]
    found = [
        f"{path.relative_to(ROOT)}:{place}: {reason}"
        for path in files
        for line, is_docstring, text in texts_of(path.read_text(encoding="utf-8"))
        for place, reason in riddles(line, text, is_docstring)
    ]
    assert files and not found, "\n".join([f"{len(found)} in {package}", *found])


def test_what_counts_as_a_riddle() -> None:
    source = '''
"""Of a module."""
LIMIT = 3
"""
The same for a limit; whoever
reads on, Whoever it is.
"""
TEXT = "Of no docstring, whoever reads it."
# Who waits, and whoever else.
def wait():
    """Whose turn it is. Of comments, only the words count."""
'''
    found = [line for start, is_docstring, text in texts_of(source) for line, _ in riddles(start, text, is_docstring)]
    assert sorted(found) == [2, 4, 5, 6, 9]
    assert [line for line, _ in riddles(1, "Of no docstring:\nwhoever reads it")] == [2]


def main() -> None:
    """Print each document's words, words outside code, sentences, mean sentence (of all, and without tables) and longest sentence."""
    print(f"{'document':<28} {'words':>6} {'plain':>6} {'sentences':>9} {'mean':>5} {'in text':>7} {'longest':>7}")
    documents = {path: read(path) for path in DOCUMENTS}
    for path, prose in documents.items():
        means = f"{mean_words(prose.sentences):>5.1f} {mean_words(prose.text):>7.1f}"
        name, counts = path.relative_to(ROOT).as_posix(), f"{prose.words:>6} {prose.plain_words:>6} {len(prose.sentences):>9}"
        print(f"{name:<28} {counts} {means} {word_count(prose.longest):>7}")
    print(f"{'all':<28} {sum(prose.words for prose in documents.values()):>6} {sum(prose.plain_words for prose in documents.values()):>6}")


if __name__ == "__main__":
    main()

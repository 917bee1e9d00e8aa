"""How long the documents and their sentences are. `python -m tests.test_prose` prints the figures of each document."""

import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.shipped import ROOT

DOCUMENTS = [*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")), *sorted((ROOT / "docs").glob("*.md"))]
MOST_WORDS = 20_000
"""All documents together have fewer outside code."""
README_WORDS = 900
"""README has fewer, code included, as `wc -w` counts them."""
MEAN_WORDS = 20
"""The mean sentence is shorter."""
LONGEST_WORDS = 45
"""No sentence is longer."""
LEAST_CELL_WORDS = 4
"""A table cell of fewer words is a name or a figure, and no sentence."""

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
    """Of the whole file, as `wc -w` counts them."""
    plain_words: int
    """Words with a letter, outside code blocks."""
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
    """Words with a letter, outside code blocks and comments."""
    lines = _COMMENT.sub("", _FENCE.sub("\n", text)).splitlines()
    words = (word for line in lines if not _CODE_LINE.match(line) for word in line.split())
    return sum(any(character.isalpha() for character in word) for word in words)


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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_sentences_are_short(path: Path) -> None:
    prose = read(path)
    assert len(prose.sentences) > 20
    assert word_count(prose.longest) <= LONGEST_WORDS, prose.longest
    assert mean_words(prose.sentences) < MEAN_WORDS
    assert mean_words(prose.text) < MEAN_WORDS, "short table cells don't make up for long paragraphs"


def test_the_documents_are_short() -> None:
    counts = {path.name: read(path).plain_words for path in DOCUMENTS}
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
    assert plain_word_count(text) == len(["Times", "It", "stores", "ms`", "times.", "a", "cell"])


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

"""The documents' commands, in code blocks and within sentences."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.command_line import PROJECT

DOCUMENTS = (*(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "client/README.md")), *sorted((PROJECT / "docs").glob("*.md")))
PROGRAMS = (
    *("assay", "assay-client", "curl", "export", "make", "pip", "python", "ray"),
    *("harbor", "inspect", "vf-eval"),
    *("head=$(scontrol", "sleep", "srun"),
)

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^(?: {4}.*)?\n)+", re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_COMMENT = re.compile(r"(?:^|\s+)#\s.*")


@dataclass(frozen=True)
class Shown:
    """One command, as a reader would copy it."""

    document: Path
    text: str
    is_block: bool
    """Whether it stands in a code block, and not within a sentence."""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self.text.split())

    @property
    def is_name(self) -> bool:
        """Whether it only names a command, such as `assay judge` or `python -m web`, and says nothing to do."""
        words = self.words[2:] if self.words[:2] == ("python", "-m") else self.words
        return not self.is_block and len(words) <= 2 and all(re.fullmatch(r"[a-z][a-z_.-]*", word) for word in words)


def shown(document: Path) -> Iterator[Shown]:
    """The commands of a document: first those of its code blocks, from top to bottom, then those within sentences."""
    text = document.read_text(encoding="utf-8")
    blocks: list[tuple[int, str]] = [(each.start(), each[2]) for each in _FENCE.finditer(text) if each[1] in ("", "sh")]
    prose = _FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text)
    blocks += [(each.start(), re.sub("^    ", "", each[0], flags=re.MULTILINE)) for each in _INDENTED.finditer(text) if "    " in each[0]]
    for _, block in sorted(blocks):
        for line in block.replace("\\\n", " ").splitlines():
            if command := _command(line):
                yield Shown(document, command, is_block=True)
    for span in _SPAN.findall(_INDENTED.sub("\n", prose)):
        if (command := _command(span)) and " " in command:
            yield Shown(document, command, is_block=False)


def _command(line: str) -> str:
    """The line's command without its comment, or an empty text. Programs of a virtual environment lose their folder."""
    text = " ".join(_COMMENT.sub("", line).replace(".venv/bin/", "").replace("\\|", "|").split())
    return text if text.split(" ")[0] in PROGRAMS else ""

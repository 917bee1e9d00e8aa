"""Submissions with a mistake for each tool: corpus/.

The header of each names the problem, the tool that finds the mistake, the beginning of what it says, and the kernel; lines that end with HERE are
those that have to be named, the first of them as the finding's own.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from evaluator.sanitizer.tools import Tool

CORPUS = Path(__file__).parent / "corpus"

_FIELD = re.compile(r"^# (problem|tool|finds|kernel): (.+)$")


@dataclass(frozen=True)
class Mistake:
    """One submission."""

    name: str
    code: str
    problem: str
    tool: Tool
    finds: str
    kernel: str
    lines: tuple[int, ...]


def read(path: Path) -> Mistake:
    """The mistake in a file. Raises KeyError where its header lacks something."""
    code = path.read_text(encoding="utf-8")
    lines = code.splitlines()
    fields = dict(match.groups() for line in lines[:4] if (match := _FIELD.match(line)))
    marked = tuple(number for number, line in enumerate(lines, 1) if line.endswith("HERE"))
    return Mistake(path.name, code, fields["problem"], Tool(fields["tool"]), fields["finds"], fields["kernel"], marked)


MISTAKES = {path.stem: read(path) for path in sorted(CORPUS.glob("*.py"))}

"""Submissions with a mistake for each tool: corpus/.

The header of each names the problem, the tool that finds the mistake, what it says in part, and the kernel; lines that end with HERE are
those that have to be named.
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
    fields = {match[1]: match[2] for line in lines[:4] if (match := _FIELD.match(line))}
    marked = tuple(number for number, line in enumerate(lines, 1) if line.endswith("HERE"))
    return Mistake(path.name, code, fields["problem"], Tool(fields["tool"]), fields["finds"], fields["kernel"], marked)


MISTAKES = {path.stem: read(path) for path in sorted(CORPUS.glob("*.py"))}

"""Hints on failures, one per category."""

import contextlib
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from rich.text import Text

from evaluator.results.category import CATEGORIES, Category


def advice(counts: Mapping[Category, int], chosen: str = "") -> list[Text]:
    """The hint of each category and the command that lists its evaluations, the most frequent first; empty if none has a hint.

    chosen: further arguments of `assay list`, which filter the evaluations.
    """
    found = hints(counts)
    lines = [Text("\nWhat to do", style="bold")] if found else []
    command = assay_command()
    for category, hint in found.items():
        listed = f"    {command} list --category {category}{f' {chosen}' if chosen else ''}"
        lines += [hint, Text(listed, style="dim", no_wrap=True)]
    return lines


def hints(counts: Mapping[Category, int]) -> dict[Category, Text]:
    """A line for each category that has a hint, the most frequent first."""
    found = sorted((category for category in counts if CATEGORIES[category].hint), key=lambda each: (-counts[each], each))
    return {each: Text.assemble((f"{each}", "bold"), f" ({counts[each]}): {CATEGORIES[each].hint}") for each in found}


def runnable(text: str) -> str:
    """A text with hints such as `assay list` in backquotes, whose commands a shell then finds."""
    return text.replace("`assay ", f"`{assay_command()} ")


def assay_command() -> str:
    """How to call `assay` from the working folder: by its path beside this Python if a shell would not find its name."""
    path = Path(sys.executable).parent / "assay"
    if shutil.which("assay") or not path.is_file():
        return "assay"
    with contextlib.suppress(OSError, ValueError):
        path = path.relative_to(Path.cwd())
    return shlex.quote(str(path) if len(path.parts) > 1 else f"./{path}")

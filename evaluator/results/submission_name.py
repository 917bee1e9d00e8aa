"""The name of a submission in results: the path of its file."""

import os
from pathlib import Path


def submission_name(path: Path) -> str:
    """The name for an absolute path: with forward slashes, and relative if it lies in the working directory."""
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return os.fsencode(shown.as_posix()).decode("utf-8", "replace")


def shown_name(name: str, block: int | None) -> str:
    """The name for people: with the number of the code block from the second one on, as in `answer.md [2]`."""
    return name if block is None or block < 2 else f"{name} [{block}]"

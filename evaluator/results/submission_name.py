"""The name of a submission in results: the path of its file."""

import os
from pathlib import Path


def submission_name(path: Path) -> str:
    """The name for an absolute path: with forward slashes, and relative if it lies in the working directory."""
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return os.fsencode(shown.as_posix()).decode("utf-8", "replace")

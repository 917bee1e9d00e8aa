"""How results name a submission: by the path of its file."""

import os
from pathlib import Path


def submission_name(path: Path) -> str:
    """An absolute path as results show it: with forward slashes, relative to the working directory where it lies below it."""
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return os.fsencode(shown.as_posix()).decode("utf-8", "replace")

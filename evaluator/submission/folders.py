"""The files in a folder that are read as submissions.

Left out are: names that begin with a dot, `__pycache__`, `__init__.py`, files named README, and files with results that a run could not
store in the database (`db.storage.spool`).
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from evaluator.results.display.text import natural

BUNDLE_SUFFIX = ".jsonl"
SUFFIXES = (".py", ".txt", ".md", BUNDLE_SUFFIX)
"""Suffixes of the files that are read, in upper or lower case."""
_SPOOL = re.compile(r".*\.spool-[0-9]+-[0-9a-f]{8}\.jsonl")


def walk(start: Path) -> Iterator[tuple[Path, str]]:
    """The files below `start` as people order names, each folder once even if several links lead to it; or `start` itself.

    A folder that can't be listed is returned like a file, so that reading it reports the error.
    """
    entered: set[tuple[int, int]] = set()
    pending: list[tuple[Path, Iterator[tuple[str, bool]]]] = [(start.parent, iter([(start.name, start.is_dir())]))]
    while pending:
        folder, entries = pending[-1]
        entry = next(entries, None)
        if entry is None:
            pending.pop()
            continue
        name, is_folder = entry
        if not is_folder:
            yield folder, name
        else:
            inner = folder / name
            try:
                status = inner.stat()
                if (status.st_dev, status.st_ino) in entered:
                    continue
                entered.add((status.st_dev, status.st_ino))
                pending.append((inner, iter(_listed(inner))))
            except OSError:
                yield folder, name


def _listed(folder: Path) -> list[tuple[str, bool]]:
    """The wanted entries, as people order their names, and whether each is a folder. Raises OSError."""
    with os.scandir(folder) as entries:
        wanted = [(entry.name, entry.is_dir()) for entry in entries if _wanted(entry)]
    return sorted(wanted, key=lambda entry: (natural(entry[0]), entry[0]))


def _wanted(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith(".") or entry.name in ("__pycache__", "__init__.py") or _SPOOL.fullmatch(entry.name):
        return False
    stem, suffix = os.path.splitext(entry.name)  # noqa: PTH122 (a Path for each entry of a large folder is slow)
    return (suffix.lower() in SUFFIXES and stem.lower() != "readme") or entry.is_dir()


def check_regular(path: Path) -> None:
    """Raises OSError for anything but a file: opening a FIFO would wait for a writer, and reading a device might not end."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        os.listdir(path)  # noqa: PTH208 (for the error that listing it raises)
    if not stat.S_ISREG(mode):
        raise OSError("not a regular file")

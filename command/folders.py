"""The folders that a run writes to: temporary files and the build cache. They are tried before anything is judged."""

import contextlib
import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from command.exits import UsageError
from evaluator.machine.cache_folder import default_root
from evaluator.machine.held_folder import held_folder

TRIED_BYTES = 16 << 20
"""A build writes about as much."""

log = logging.getLogger(__name__)


@contextlib.contextmanager
def usable_folders() -> Iterator[None]:
    """Try both folders. An empty temporary folder replaces a cache that can't be used meanwhile, also in processes that start.

    Raises UsageError if temporary files can't be written.
    """
    temporary = Path(next(filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP"))), "/tmp"))
    if fault := _fault(temporary):
        raise UsageError(f"the temporary folder {fault}: set TMPDIR to a folder that can be written")
    tempfile.tempdir = None  # it may have been looked for before it was made
    fault = _cache_fault()
    if not fault:
        yield
        return
    log.warning("the build cache %s: builds run without it; set ASSAY_CACHE to a folder that can be written", fault)
    given = os.environ.get("ASSAY_CACHE")
    with held_folder("cache") as empty:
        empty.chmod(0o755)  # compilers may run as another user
        os.environ["ASSAY_CACHE"] = str(empty)
        try:
            yield
        finally:
            if given is None:
                del os.environ["ASSAY_CACHE"]
            else:
                os.environ["ASSAY_CACHE"] = given


def _cache_fault() -> str:
    try:
        return _fault(default_root())
    except PermissionError as error:
        return str(error)


def _fault(folder: Path) -> str:
    """The folder, and why it can't be made or written; empty if it can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, TRIED_BYTES)
    except (FileExistsError, NotADirectoryError):
        return f"{folder} can't be used (a file is in its place)"
    except OSError as error:
        return f"{folder} can't be used ({error.strerror or error})"
    return ""

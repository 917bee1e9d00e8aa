"""Folders for confined compilers to work in, and the files that they leave there."""

import logging
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MAX_OBJECT_BYTES = 512 << 20

log = logging.getLogger(__name__)


@contextmanager
def work_folder() -> Iterator[Path]:
    """A fresh folder that a confined compiler, possibly of another user, can write in, and that others can't find. Its writers can't move
    it."""
    parent = Path(tempfile.mkdtemp(prefix="assay-build-"))
    try:
        parent.chmod(0o711)
        folder = parent / os.urandom(8).hex()
        folder.mkdir()
        folder.chmod(0o777)
        yield folder
    finally:
        _remove(parent)


def _remove(parent: Path) -> None:
    """Remove it with all files that compilers left there, which the request's flags can control."""
    with suppress(RecursionError):
        shutil.rmtree(parent, ignore_errors=True)
    if parent.exists():
        # Nested folders, too deep for Python, or closed to their owner.
        for command in ("chmod", "-R", "u+rwX"), ("rm", "-rf"):
            subprocess.run([*command, "--", str(parent)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if parent.exists():
        log.warning("%s could not be removed", parent)


def fault_of(path: Path) -> str | None:
    """Why a command's output can't be used, which the request's flags have caused; None if it can."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return "was not made"
    if not stat.S_ISREG(status.st_mode):
        return "is not a plain file"
    return f"is larger than {MAX_OBJECT_BYTES} bytes" if status.st_size > MAX_OBJECT_BYTES else None


def read_product(path: Path, limit_bytes: int = MAX_OBJECT_BYTES) -> bytes:
    """A compiler's output at `path`, even if it changed since the last look. Raises OSError for anything but a plain file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path.name} is not a plain file")
        return file.read(limit_bytes)

"""Folders for confined compilers to work in, and the files that they leave there."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluator.machine.held_folder import held_folder

MAX_OBJECT_BYTES = 512 << 20


@contextmanager
def work_folder() -> Iterator[Path]:
    """A fresh folder that a confined compiler, possibly of another user, can write in, and that others can't find. Its writers can't move
    it."""
    with held_folder("build") as parent:
        parent.chmod(0o711)
        folder = parent / os.urandom(8).hex()
        folder.mkdir()
        folder.chmod(0o777)
        yield folder


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

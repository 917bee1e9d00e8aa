"""Temporary folders that go with the process that made them, also if it is killed.

The process holds a lock on the folder, which the kernel frees when the process ends. The engine looks for folders without their lock, and
removes them: after it has killed a judge, and when it starts.
"""

import fcntl
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "assay-held-"
SHORT_PLACE = "/tmp"
"""For folders whose path must be short. It is looked through like the usual place."""

log = logging.getLogger(__name__)


@contextmanager
def held_folder(kind: str) -> Iterator[Path]:
    """A fresh folder, closed to others, with `kind` in its name. It goes at the end, or with this process."""
    path, descriptor = make_held(kind)
    try:
        yield path
    finally:
        _remove(path)
        os.close(descriptor)


def make_held(kind: str, within: str | None = None) -> tuple[Path, int]:
    """A folder like `held_folder`'s, by default in the usual place, and the descriptor that holds its lock. The caller removes it."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-", dir=within))
        with suppress(FileNotFoundError):
            descriptor = _opened(path)
            # Until it is locked, `remove_left` of another process may take it for one that was left.
            if _locked(descriptor) and path.exists():
                return path, descriptor
            os.close(descriptor)


def remove_left() -> None:
    """Remove this user's folders whose processes are gone."""
    for path in [path for place in {tempfile.gettempdir(), SHORT_PLACE} for path in Path(place).glob(f"{PREFIX}*")]:
        with suppress(OSError):  # another process was first, or it is another user's
            descriptor = _opened(path)
            try:
                if os.fstat(descriptor).st_uid == os.geteuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(path)
            finally:
                os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Whether no other process holds the lock. A file system without such locks locks nothing, and `remove_left` removes nothing there."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        log.debug("the temporary folder has no locks", exc_info=True)
    return True


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _remove(path: Path) -> None:
    """Remove it with all files that programs left there, which a submission can control."""
    with suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        # Nested folders, too deep for Python, or closed to their owner.
        for command in ("chmod", "-R", "u+rwX"), ("rm", "-rf"):
            subprocess.run([*command, "--", str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if path.exists():
        log.warning("%s could not be removed", path)

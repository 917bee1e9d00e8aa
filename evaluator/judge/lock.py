"""One judging at a time on a GPU, across all processes and users of the machine."""

import contextlib
import fcntl
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path


class DeviceLock:
    """A lock file a device. Held while a submission computes, given up while it waits for a build.

    A second one is held by who gets the first next: one at a time can prepare for the device.
    """

    def __init__(self, device_id: str) -> None:
        """`device_id` names the device for every process of the machine (a GPU's UUID)."""
        name = re.sub(r"[^A-Za-z0-9-]", "_", device_id)
        self._descriptor = open_shared(Path(tempfile.gettempdir()) / f"assay-{name}.lock")
        try:
            self._turn = open_shared(Path(tempfile.gettempdir()) / f"assay-{name}-next.lock")
        except OSError:
            os.close(self._descriptor)
            raise
        self._held = False

    def acquire(self, prepare: Callable[[], object] | None = None) -> None:
        """Wait for the device. `prepare` is called as soon as nobody else comes before, while another may still have the device."""
        if self._held:
            return
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        try:
            if prepare:
                prepare()
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)
        self._held = True

    def release(self) -> None:
        if self._held:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self._held = False

    @contextlib.contextmanager
    def yielded(self) -> Iterator[None]:
        """Let others have the device meanwhile, where it is held."""
        held = self._held
        self.release()
        try:
            yield
        finally:
            if held:
                self.acquire()

    def close(self) -> None:
        os.close(self._descriptor)
        os.close(self._turn)


def open_shared(path: Path) -> int:
    """Open for locking a file that any user may have made. Sticky folders refuse O_CREAT on another user's file, so that comes second."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        descriptor = os.open(path, flags | os.O_CREAT, 0o666)
        os.fchmod(descriptor, 0o666)
        return descriptor

"""One judging at a time on a GPU, across all processes and users of the machine."""

import contextlib
import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path


class DeviceLock:
    """A lock file a device. Held while a submission computes, given up while it waits for a build."""

    def __init__(self, device_id: str) -> None:
        """`device_id` names the device for every process of the machine (a GPU's UUID)."""
        path = Path(tempfile.gettempdir()) / f"assay-{re.sub(r'[^A-Za-z0-9-]', '_', device_id)}.lock"
        self._descriptor = _open_shared(path)
        self._held = False

    def acquire(self) -> None:
        """Wait for the device."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
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


def _open_shared(path: Path) -> int:
    """Open for locking a file that any user may have made. Sticky folders refuse O_CREAT on another user's file, so that comes second."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        descriptor = os.open(path, flags | os.O_CREAT, 0o666)
        os.fchmod(descriptor, 0o666)
        return descriptor

"""One judging at a time on a GPU, across all processes and users of the machine."""

import contextlib
import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path


class DeviceLock:
    """A lock file a device. Held while a submission computes, given up while it waits for a build.

    A second one is held by who gets the first next: one at a time can prepare for the device, while another has it.
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
        self._held = self._next = False

    def take_turn(self) -> None:
        """Wait until nobody else gets the device before, which another may still have. `acquire` is to follow soon: all others wait."""
        if not (self._held or self._next):
            fcntl.flock(self._turn, fcntl.LOCK_EX)
            self._next = True

    def acquire(self) -> None:
        """Wait for the device."""
        if self._held:
            return
        self.take_turn()
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            self._held = True
        finally:
            self._give_up_turn()

    def release(self) -> None:
        """Give up the device, or the turn to have it."""
        self._give_up_turn()
        if self._held:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self._held = False

    def _give_up_turn(self) -> None:
        if self._next:
            fcntl.flock(self._turn, fcntl.LOCK_UN)
            self._next = False

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

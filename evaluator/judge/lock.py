"""One judging at a time on a GPU, across all processes and users of the machine."""

import contextlib
import fcntl
import os
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

PLACES = 2
"""How many can prepare for a device while another has it: a submission that fails has it for less time than it takes to prepare for it."""


class DeviceLock:
    """A lock file a device. Held while a submission computes, given up while it waits for a build.

    Further ones are places in front of it: who has one can prepare for the device, and gets it before all who have none.
    """

    def __init__(self, device_id: str) -> None:
        """`device_id` names the device for every process of the machine (a GPU's UUID)."""
        name = re.sub(r"[^A-Za-z0-9-]", "_", device_id)
        self._descriptor = open_shared(Path(tempfile.gettempdir()) / f"assay-{name}.lock")
        try:
            self._places = _open_places(name)
        except OSError:
            os.close(self._descriptor)
            raise
        self._held = False
        self._place: int | None = None

    def take_place(self) -> None:
        """Wait for a place in front of the device, which another may still have. `acquire` is to follow soon: all others wait."""
        if self._held or self._place is not None:
            return
        for place in self._places:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._place = place
                return
        place = random.choice(self._places)
        fcntl.flock(place, fcntl.LOCK_EX)
        self._place = place

    def acquire(self) -> None:
        """Wait for the device."""
        if self._held:
            return
        self.take_place()
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            self._held = True
        finally:
            self._leave_place()

    def release(self) -> None:
        """Give up the device, or the place in front of it."""
        self._leave_place()
        if self._held:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self._held = False

    def _leave_place(self) -> None:
        if self._place is not None:
            fcntl.flock(self._place, fcntl.LOCK_UN)
            self._place = None

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
        for descriptor in (self._descriptor, *self._places):
            os.close(descriptor)


def _open_places(name: str) -> list[int]:
    places: list[int] = []
    try:
        for number in range(PLACES):
            places += [open_shared(Path(tempfile.gettempdir()) / f"assay-{name}-next-{number}.lock")]
    except OSError:
        for place in places:
            os.close(place)
        raise
    return places


def open_shared(path: Path) -> int:
    """Open for locking a file that any user may have made. Sticky folders refuse O_CREAT on another user's file, so that comes second."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        descriptor = os.open(path, flags | os.O_CREAT, 0o666)
        os.fchmod(descriptor, 0o666)
        return descriptor

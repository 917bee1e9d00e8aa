"""Lets one judge at a time use a GPU, across all processes and users of the machine."""

import contextlib
import fcntl
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from evaluator.log import waiting

PLACES = 2
"""Judges that may prepare for a device while another one has it. A failing submission has it for less time than preparing takes."""

POLL_S = 0.01


class DeviceLock:
    """A lock file for each device. The judge holds it while a submission computes, and releases it while the submission waits for a build.

    A holder of both the lock and a second file has the device exclusively. A judge that has timed its submission may let the next judge
    have the device (`share`), and keeps the second lock while it still computes there. So at most two compute at a time, and a timing is
    always alone.

    Further lock files are places in the queue, which go to judges in the order of their arrival. A judge with a place prepares for the
    device, and gets it before judges without a place. A judge that has had the device needs no place.
    """

    def __init__(self, device_id: str, tell: Callable[[bool], None] = lambda _: None) -> None:
        """device_id: a name that is the same in every process of the machine (a GPU's UUID). tell: called at acquisition and release."""
        self._tell = tell
        name = re.sub(r"[^A-Za-z0-9-]", "_", device_id)
        names = ["", "-alone", "-queue", *(f"-next-{number}" for number in range(PLACES))]
        self._device, self._second, self._queue, *self._places = open_all([f"assay-{name}{each}.lock" for each in names])
        self._has_device = self._has_second = self._was_held = self._is_exclusive = False
        self._place: int | None = None

    def take_place(self) -> None:
        """Wait for a place in the queue, while another judge may have the device. Call `acquire` soon: all others wait."""
        if self.held or self.was_held or self._place is not None:
            return
        with waiting("a place in the queue for the device"):
            fcntl.flock(self._queue, fcntl.LOCK_EX)  # in the order of arrival
            try:
                while (place := lock_any(self._places)) is None:  # Linux waits for one lock, not for either of two
                    time.sleep(POLL_S)
            finally:
                fcntl.flock(self._queue, fcntl.LOCK_UN)
        self._place = place

    def acquire(self) -> None:
        """Wait for the device. Another judge may still compute there after its timing (`is_alone` is False then)."""
        if self.held:
            return
        self.take_place()
        try:
            with waiting("the device lock"):
                fcntl.flock(self._device, fcntl.LOCK_EX)
            self._has_device = self._was_held = True
            self._has_second = lock_any([self._second]) is not None
            self._tell(True)
        finally:
            self._leave_place()

    def acquire_alone(self) -> None:
        """Wait for exclusive use. A sharing judge releases the device first."""
        if not self._has_device:
            self.release()  # the device's lock comes first, to avoid a deadlock
            self.acquire()
        if not self._has_second:
            with waiting("exclusive use of the device"):
                fcntl.flock(self._second, fcntl.LOCK_EX)
            self._has_second = True
        self._is_exclusive = True

    def share(self) -> None:
        """Let the next judge have the device. It does not time before this one has released it. Requires exclusive use."""
        if self.is_alone:
            fcntl.flock(self._device, fcntl.LOCK_UN)
            self._has_device = self._is_exclusive = False
            self._tell(False)

    @property
    def held(self) -> bool:
        """Whether this lock has the device, or shares it."""
        return self._has_device or self._has_second

    @property
    def is_alone(self) -> bool:
        """Whether no other judge computes on the device."""
        return self._has_device and self._has_second

    @property
    def was_held(self) -> bool:
        """Whether this lock has had the device."""
        return self._was_held

    def release(self) -> None:
        """Release the device, the share of it, or the place in the queue."""
        self._leave_place()
        if self._has_second:
            fcntl.flock(self._second, fcntl.LOCK_UN)
            self._has_second = False
        if self._has_device:
            fcntl.flock(self._device, fcntl.LOCK_UN)
            self._has_device = False
            self._tell(False)
        self._is_exclusive = False

    def _leave_place(self) -> None:
        if self._place is not None:
            fcntl.flock(self._place, fcntl.LOCK_UN)
            self._place = None

    @contextlib.contextmanager
    def yielded(self) -> Iterator[None]:
        """Let others have the device meanwhile, if it is held. Afterwards it is held, shared or exclusive as before."""
        was_held, was_exclusive, was_shared = self.held, self._is_exclusive, self.held and not self._has_device
        self.release()
        try:
            yield
        finally:
            if was_exclusive or was_shared:
                self.acquire_alone()
            elif was_held:
                self.acquire()
            if was_shared:
                self.share()

    def close(self) -> None:
        for descriptor in (self._device, self._second, self._queue, *self._places):
            os.close(descriptor)


def lock_any(descriptors: list[int], how: int = fcntl.LOCK_EX) -> int | None:
    """Lock the first free one, exclusively or shared (fcntl.LOCK_SH); None if none is free."""
    for descriptor in descriptors:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            return descriptor
    return None


def open_all(names: list[str]) -> list[int]:
    """Open all of these lock files, or none. Raises OSError."""
    opened: list[int] = []
    try:
        for name in names:
            opened += [open_shared(Path(tempfile.gettempdir()) / name)]
    except OSError:
        for descriptor in opened:
            os.close(descriptor)
        raise
    return opened


def open_shared(path: Path) -> int:
    """Open for locking a file that any user may have made. Sticky folders refuse O_CREAT on another user's file, so it is tried second."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        descriptor = os.open(path, flags | os.O_CREAT, 0o666)
        os.fchmod(descriptor, 0o666)
        return descriptor

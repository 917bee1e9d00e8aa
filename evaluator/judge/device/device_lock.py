"""One judging at a time on a GPU, and a few starts of CUDA at a time on the machine, across all of its processes and users."""

import contextlib
import fcntl
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

PLACES = 2
"""How many can prepare for a device while another has it: a submission that fails has it for less time than it takes to prepare for it."""

STARTS = 2
"""How many start CUDA at a time on one machine. The driver starts 2.3 contexts a second one after the other, 4.3 on one GPU where four ask
at once, 5.0 on two where eight do; and whoever has a device then waits 15 to 34 times as long for memory that it shares with workers."""
TURN_S = 5.0
"""After so long a turn is over, whether CUDA has started or not: a submission may see to it that its worker never does."""
PATIENCE_S = 60.0
"""Nobody waits for longer, whoever has the turns."""

POLL_S = 0.01


class DeviceLock:
    """A lock file a device. Held while a submission computes, given up while it waits for a build.

    Further ones are places in front of it: who has one can prepare for the device, and gets it before all who have none.
    """

    def __init__(self, device_id: str) -> None:
        """`device_id` names the device for every process of the machine (a GPU's UUID)."""
        name = re.sub(r"[^A-Za-z0-9-]", "_", device_id)
        self._descriptor = open_shared(Path(tempfile.gettempdir()) / f"assay-{name}.lock")
        try:
            self._places = _open_all([f"assay-{name}-next-{number}.lock" for number in range(PLACES)])
        except OSError:
            os.close(self._descriptor)
            raise
        self._held = False
        self._place: int | None = None

    def take_place(self) -> None:
        """Wait for a place in front of the device, which another may still have. `acquire` is to follow soon: all others wait."""
        if self._held or self._place is not None:
            return
        while (place := _lock_any(self._places)) is None:  # the kernel waits for one lock, not for either of two
            time.sleep(POLL_S)
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

    @property
    def held(self) -> bool:
        """Whether the device is this one's."""
        return self._held

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


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """Wait for a turn at starting CUDA, and have it meanwhile, for TURN_S at the most. Where there is no lock to be had, don't wait.

    For those that have no device yet: whoever has one is not to wait for them.
    """
    turns: list[int] = []
    with contextlib.suppress(OSError):
        turns = _open_all([f"assay-start-{number}.lock" for number in range(STARTS)])
    over = threading.Timer(TURN_S, _unlock, [turns])
    try:
        until = time.monotonic() + PATIENCE_S
        while turns and _lock_any(turns) is None and time.monotonic() < until:
            time.sleep(POLL_S)
        over.start()
        yield
    finally:
        over.cancel()
        if over.ident is not None:
            over.join()
        _unlock(turns)
        for turn in turns:
            os.close(turn)


def _unlock(descriptors: list[int]) -> None:
    """A close alone would leave a lock with any child that was forked meanwhile."""
    for descriptor in descriptors:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _lock_any(descriptors: list[int]) -> int | None:
    """The first of them that could be locked at once."""
    for descriptor in descriptors:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
    return None


def _open_all(names: list[str]) -> list[int]:
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
    """Open for locking a file that any user may have made. Sticky folders refuse O_CREAT on another user's file, so that comes second."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        descriptor = os.open(path, flags | os.O_CREAT, 0o666)
        os.fchmod(descriptor, 0o666)
        return descriptor

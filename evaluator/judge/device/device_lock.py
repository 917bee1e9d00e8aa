"""Decides which judges use a GPU at the same time, across all processes and users of the machine."""

import contextlib
import fcntl
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from evaluator.log import waiting

SHARERS = 8
"""Judges whose submissions may compute on a GPU at once while none is timed."""
PLACES = 2
"""Judges that may prepare for a device before they have had it."""

POLL_S = 0.01


def sharers_on(kind: str) -> int:
    """Judges that may share a device of this kind. On a CPU each would take time from the others' calls."""
    return SHARERS if kind == "cuda" else 1


class DeviceLock:
    """Lock files for each device. A judge shares the device while its submission computes, and has it exclusively for a timing. It releases
    the device while the submission waits for a build; its workers may keep memory there until its evaluation ends.

    A judge that waits for a timing goes before all others: the sharing ones leave one after the other, and timings follow each other. A
    judge that has begun goes before judges that have not. Those take places in a queue, in the order of their arrival, and prepare for the
    device there.
    """

    def __init__(
        self,
        device_id: str,
        tell: Callable[[bool], None] = lambda _: None,
        sharers: int = SHARERS,
        settle: Callable[[], object] = lambda: None,
    ) -> None:
        """device_id: a name that is the same in every process of the machine (a GPU's UUID). tell: called when exclusive use begins and
        ends. sharers: judges that may share it; 1 if each has it exclusively. settle: waits, before a release, until no thread of the judge
        computes there."""
        self._tell, self._sharers, self._settle, self._thread = tell, sharers, settle, threading.get_ident()
        name = re.sub(r"[^A-Za-z0-9-]", "_", device_id)
        places, shares = [f"-next-{number}" for number in range(PLACES)], [f"-share-{number}" for number in range(sharers)]
        opened = open_all([f"assay-{name}{each}.lock" for each in ("", "-turn", "-wanted", "-begun", "-queue", *places, *shares)])
        self._device, self._turn, self._wanted, self._begun, self._queue = opened[:5]
        self._places, self._shares = opened[5 : 5 + PLACES], opened[5 + PLACES :]
        self._place: int | None = None
        self._share: int | None = None
        self._has_begun = self._found_others = self._keeps_others_out = self._is_exclusive = False
        self._beginning = 0
        """The number of its beginning among all judges' beginnings."""

    def take_place(self) -> None:
        """Wait for a place in the queue, while other judges may have the device. Call `acquire` soon: all others wait."""
        if self._has_begun or self._place is not None:
            return
        with waiting("a place in the queue for the device"), _locked(self._queue):  # in the order of arrival
            while (place := lock_any(self._places)) is None:  # Linux waits for one lock, not for either of two
                time.sleep(POLL_S)
        self._place = place

    def acquire(self) -> None:
        """Wait for the device, or for a share of it."""
        if self.held:
            return
        self.take_place()
        try:
            with waiting("the device lock"):
                self._enter()
        finally:
            self._leave_place()
        if self._sharers == 1:
            self._is_exclusive = True
            self._tell(True)

    def acquire_exclusive(self) -> None:
        """Wait until no other judge shares the device."""
        if not self._has_begun or self._sharers == 1:
            self.acquire()
        if not self._is_exclusive:
            self.release()  # of two sharing judges, one waits for the other
            with waiting("exclusive use of the device"), _locked(self._wanted, fcntl.LOCK_SH), _locked(self._turn):
                fcntl.flock(self._device, fcntl.LOCK_EX)
            self._is_exclusive = True
            self._tell(True)

    def acquire_alone(self) -> None:
        """Wait for the end of all other evaluations, which may have memory there, and let none begin. Then wait for exclusive use."""
        if not self._keeps_others_out:
            self.release()
            fcntl.flock(self._begun, fcntl.LOCK_UN)  # of two that wait here, each would wait for the other
            with waiting("the end of other evaluations on the device"), _locked(self._queue):
                fcntl.flock(self._begun, fcntl.LOCK_EX)
            self._has_begun = self._keeps_others_out = True
        self.acquire_exclusive()

    def share(self) -> None:
        """Go on without exclusive use. Judges that wait for a timing go first."""
        if self._is_exclusive:
            self.release()
            self.acquire()

    @property
    def is_wanted(self) -> bool:
        """Whether this lock shares the device, and another judge waits for a timing there."""
        return self._share is not None and self._a_timing_waits

    @property
    def _a_timing_waits(self) -> bool:
        return not any(is_free(self._wanted) for _ in range(2))  # another judge's look, which takes microseconds, looks like a wait

    def _enter(self) -> None:
        """Wait for a share of the device: in the order of arrival if it has begun, otherwise until no judge waits that has."""
        while True:
            if self._has_begun:
                fcntl.flock(self._turn, fcntl.LOCK_EX)
            elif lock_any([self._turn]) is None:
                time.sleep(POLL_S)
                continue
            try:
                while not self._a_timing_waits:
                    if self._can_share():
                        return
                    if not self._has_begun:
                        break
                    time.sleep(POLL_S)
            finally:
                fcntl.flock(self._turn, fcntl.LOCK_UN)
            time.sleep(POLL_S)  # a timing that waits takes the turn

    def _can_share(self) -> bool:
        """Take a share of the device, if one is free. Requires the turn."""
        self._share = lock_any(self._shares)  # from here on, `release` releases it
        if self._share is None:
            return False
        if lock_any([self._device], fcntl.LOCK_SH) is not None and self._begin():
            return True
        for each in (self._device, self._share):
            fcntl.flock(each, fcntl.LOCK_UN)
        self._share = None
        return False

    def _begin(self) -> bool:
        """Begin, once, unless another judge is alone on the device."""
        if self._has_begun:
            return True
        self._found_others = not is_free(self._begun)
        if lock_any([self._begun], fcntl.LOCK_SH) is None:
            return False
        self._beginning = (self._beginnings + 1) % (1 << 64)  # anybody may write to the file
        os.pwrite(self._begun, self._beginning.to_bytes(8, "little"), 0)
        self._has_begun = True
        return True

    @property
    def _beginnings(self) -> int:
        """Beginnings of all judges so far, which a file holds."""
        return int.from_bytes(os.pread(self._begun, 8, 0), "little")

    @property
    def held(self) -> bool:
        """Whether this lock has the device, or shares it."""
        return self._is_exclusive or self._share is not None

    @property
    def is_exclusive(self) -> bool:
        """Whether no other judge's submission computes on the device."""
        return self._is_exclusive or (self.held and self.is_alone)

    @property
    def is_alone(self) -> bool:
        """Whether this evaluation has begun, and no other has used the device, or memory of it, since then."""
        if self._keeps_others_out or (self.held and self._sharers == 1):
            return True
        return self._has_begun and not self._found_others and self._beginnings == self._beginning

    @property
    def has_begun(self) -> bool:
        """Whether this lock has had the device."""
        return self._has_begun

    def release(self) -> None:
        """Release the device, the share of it, or the place in the queue."""
        self._leave_place()
        if not self.held:
            return
        self._settle()
        share, self._share = self._share, None
        was_exclusive, self._is_exclusive = self._is_exclusive, False
        fcntl.flock(self._device, fcntl.LOCK_UN)
        if share is not None:
            fcntl.flock(share, fcntl.LOCK_UN)
        if was_exclusive:
            self._tell(False)

    def _leave_place(self) -> None:
        if self._place is not None:
            fcntl.flock(self._place, fcntl.LOCK_UN)
            self._place = None

    @contextlib.contextmanager
    def yielded(self) -> Iterator[None]:
        """Let others have the device meanwhile, if it is held. Afterwards it is held as before: shared, exclusively or alone.

        Other threads than its creator's let nobody in: the creator's may be computing.
        """
        if threading.get_ident() != self._thread:
            yield
            return
        was_held, was_exclusive, was_alone = self.held, self._is_exclusive, self._keeps_others_out
        self.release()
        if was_alone:
            fcntl.flock(self._begun, fcntl.LOCK_SH)
            self._keeps_others_out, self._found_others = False, True
        try:
            yield
        finally:
            if was_held and was_alone:
                self.acquire_alone()
            elif was_exclusive:
                self.acquire_exclusive()
            elif was_held:
                self.acquire()

    def close(self) -> None:
        """Release all, at the end of the evaluation."""
        self.release()
        fcntl.flock(self._begun, fcntl.LOCK_UN)  # after a close alone, a child that was forked meanwhile would keep it
        for descriptor in (self._device, self._turn, self._wanted, self._begun, self._queue, *self._places, *self._shares):
            os.close(descriptor)


@contextlib.contextmanager
def _locked(descriptor: int, how: int = fcntl.LOCK_EX) -> Iterator[None]:
    """Hold a file's lock, in the order of arrival."""
    fcntl.flock(descriptor, how)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def lock_any(descriptors: list[int], how: int = fcntl.LOCK_EX) -> int | None:
    """Lock the first free one, exclusively or shared (fcntl.LOCK_SH); None if none is free."""
    for descriptor in descriptors:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            return descriptor
    return None


def is_free(descriptor: int) -> bool:
    """Whether a file could be locked exclusively. It is not locked afterwards."""
    found = lock_any([descriptor]) is not None
    if found:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    return found


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

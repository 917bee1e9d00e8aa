"""How many submissions the judges of one GPU judge at once.

There are more judges than a GPU needs, for builds. Each that judges for the first time starts CUDA and has the driver load kernels, which a
machine does one after the other, on however many GPUs: where nothing is built, a few judges do it all, always the same ones.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

BUILDING = "build"
"""The stage in which compilers run."""
LOADING = ("", "start", "load")
"""Those in which a submission is far from any device."""
LOADING_S = 10.0
"""After so long in one of these a submission is not under way: it has minutes for loading, and may sleep in it."""
UNDER_WAY = 5
"""Submissions besides those that are being built: one has the GPU, two are next, others load."""
LOOK_BACK = 8
"""Where one of so many last ones was built, there should be as many under way as can be: builds take longer than judging."""
LOOK_EVERY_S = 1.0


class Admitted:
    """A submission that was admitted. Its stages, told in any thread, let others in."""

    def __init__(self, changed: threading.Condition) -> None:
        self._changed = changed
        self._stage, self._since = "", time.monotonic()
        self.was_built = False
        """Whether anything of it was built, and not found in the cache."""

    def enter(self, stage: str) -> None:
        """It is in this stage now."""
        with self._changed:
            self._stage, self._since = stage, time.monotonic()
            self.was_built = self.was_built or stage == BUILDING
            self._changed.notify_all()

    @property
    def is_under_way(self) -> bool:
        """Whether it may want the device soon."""
        if self._stage in LOADING:
            return time.monotonic() - self._since < LOADING_S
        return self._stage != BUILDING


class AdmissionLimit:
    """Admits submissions to one device."""

    def __init__(self, at_once: int | None) -> None:
        """`at_once` is UNDER_WAY on a GPU, and None for no limit."""
        self._at_once = at_once
        self._changed = threading.Condition()
        self._inside: list[Admitted] = []
        self._last_built: deque[bool] = deque(maxlen=LOOK_BACK)

    @contextmanager
    def admitted(self) -> Iterator[Admitted]:
        """Wait until another submission may be judged. It counts until this ends."""
        admitted = Admitted(self._changed)
        with self._changed:
            while not self._has_room():
                self._changed.wait(LOOK_EVERY_S)
            self._inside.append(admitted)
        try:
            yield admitted
        finally:
            with self._changed:
                self._inside.remove(admitted)
                self._last_built.append(admitted.was_built)
                self._changed.notify_all()

    def _has_room(self) -> bool:
        if self._at_once is None or any(self._last_built):
            return True
        return sum(admitted.is_under_way for admitted in self._inside) < self._at_once

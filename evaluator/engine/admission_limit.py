"""Limits how many submissions the judges of one GPU judge at once.

There are more judges than a GPU needs, for builds. A judge's first submission starts CUDA and has the driver load kernels. A machine does
that for one process at a time, on any number of GPUs. So if nothing is built, only a few judges work, always the same ones.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from evaluator.log import waiting

BUILDING = "build"
"""The stage in which compilers run."""
LOADING = ("", "start", "load")
"""Stages in which a submission is far from any device."""
LOADING_S = 10.0
"""After this long in one of these, a submission is no longer under way: loading may take minutes, and may sleep."""
UNDER_WAY = 5
"""Submissions besides those being built: one has the GPU, two are next, others load."""
LOOK_BACK = 8
"""If one of this many last submissions was built, the limit is lifted: builds take longer than judging."""
LOOK_EVERY_S = 1.0


class Admitted:
    """A submission that was let in. It reports its stages, from any thread, and so lets others in."""

    def __init__(self, changed: threading.Condition) -> None:
        self._changed = changed
        self._stage, self._since = "", time.monotonic()
        self.was_built = False
        """Whether any of its builds ran, instead of coming from the cache."""

    def enter(self, stage: str) -> None:
        """Report that it is in this stage now."""
        with self._changed:
            self._stage, self._since = stage, time.monotonic()
            self.was_built = self.was_built or stage == BUILDING
            self._changed.notify_all()

    @property
    def is_under_way(self) -> bool:
        """Whether it may need the device soon."""
        if self._stage in LOADING:
            return time.monotonic() - self._since < LOADING_S
        return self._stage != BUILDING


class AdmissionLimit:
    """Lets submissions in to one device."""

    def __init__(self, at_once: int | None) -> None:
        """`at_once` is UNDER_WAY on a GPU, and None for no limit."""
        self._at_once = at_once
        self._changed = threading.Condition()
        self._inside: list[Admitted] = []
        self._last_built: deque[bool] = deque(maxlen=LOOK_BACK)

    @contextmanager
    def admitted(self) -> Iterator[Admitted]:
        """Wait until another submission may be judged. It counts until the block ends."""
        admitted = Admitted(self._changed)
        with self._changed:
            with waiting("fewer submissions on the GPU and before it"):
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

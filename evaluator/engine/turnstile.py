"""How many submissions the judges of one GPU have under way at once.

There are more judges than a GPU needs, for builds. Each that judges for the first time starts CUDA and has the driver load kernels, which a
machine does one after the other, on however many GPUs: where nothing is built, a few judges do it all, always the same ones.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

BUILDING = "build"
"""The stage in which compilers run."""
UNDER_WAY = 5
"""Submissions besides those that are being built: one has the GPU, two are next, others load."""
LOOK_BACK = 8
"""Where one of so many last ones was built, there should be as many under way as can be: builds take longer than judging."""


class Turnstile:
    """Lets submissions in; of one device."""

    def __init__(self, at_once: int | None) -> None:
        """`at_once` is UNDER_WAY on a GPU, and None where any number is as good."""
        self._at_once = at_once
        self._changed = threading.Condition()
        self._under_way = 0
        """Of those that were let in and have not left, how many are not being built."""
        self._last_built: deque[bool] = deque(maxlen=LOOK_BACK)

    @contextmanager
    def admitted(self) -> Iterator["Admitted"]:
        """Wait until another one can be under way; it is until this ends."""
        with self._changed:
            self._changed.wait_for(self._has_room)
            self._under_way += 1
        admitted = Admitted(self)
        try:
            yield admitted
        finally:
            admitted.enter("")
            with self._changed:
                self._under_way -= 1
                self._last_built.append(admitted.was_built)
                self._changed.notify_all()

    def _has_room(self) -> bool:
        return self._at_once is None or self._under_way < self._at_once or any(self._last_built)

    def count(self, more: int) -> None:
        """So many more, or fewer, are not being built."""
        with self._changed:
            self._under_way += more
            self._changed.notify_all()


class Admitted:
    """One that was let in."""

    def __init__(self, turnstile: Turnstile) -> None:
        self._turnstile = turnstile
        self._building = False
        self.was_built = False
        """Whether anything of it was built, and not found in the cache."""

    def enter(self, stage: str) -> None:
        """Hear which stage it is in now."""
        building = stage == BUILDING
        if building != self._building:
            self._building = building
            self.was_built = self.was_built or building
            self._turnstile.count(-1 if building else 1)

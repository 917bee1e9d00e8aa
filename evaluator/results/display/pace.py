"""Estimates the time left of some work from its pace so far; and the type of its progress callbacks."""

import time
from collections.abc import Callable

LEAST_ITEMS = 3
"""Items that must be done before the pace is known."""
LEAST_S = 2.0
"""Seconds that must have passed before the pace is known."""
HALF_LIFE = 32
"""Items after which an item's time has half its weight."""

Tell = Callable[[int], None]
"""Callback, called with the number of newly completed items."""


def untold(_count: int) -> None:
    """A `Tell` that does nothing."""


class Pace:
    """The pace of items that take time. Items that take none, because they were done before, are not counted."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """clock: returns the time in seconds."""
        self._clock = clock
        self._began_s = self._last_s = clock()
        self._begun = 0
        self.count = 0
        """Number of items done."""
        self._weighted, self._weighted_s = 0.0, 0.0
        self._share_due = 1.0

    def begun(self) -> None:
        """An item has begun. If this is called, the time before the first item does not count.

        Items that run in parallel when the first one ends all end late, so the pace is known only once all of them have ended.
        """
        if not self._begun and not self.count:
            self._began_s = self._last_s = self._clock()
        if not self.count:
            self._begun += 1

    def done(self, count: int = 1) -> None:
        """Count `count` items that took time as done."""
        now_s = self._clock()
        # Items that end together have little weight, so their order hardly matters.
        kept = 0.5 ** (count / max(HALF_LIFE, 4 * self._begun))
        self.count += count
        self._weighted = self._weighted * kept + count
        self._weighted_s = self._weighted_s * kept + now_s - self._last_s
        self._last_s = now_s

    def drew(self, due: int, free: int) -> None:
        """Classify more items: `due` take time, `free` take none."""
        kept = 0.5 ** ((due + free) / HALF_LIFE)
        self._share_due = self._share_due * kept + (1 - kept) * due / (due + free)

    def left_s(self, due: int, unknown: int = 0) -> float | None:
        """Seconds that the rest takes; None if too little is known, or if the last item is late.

        due: items left that take time. unknown: items left that are not classified; the share that takes time is estimated by `drew`.
        """
        now_s = self._clock()
        if self.count < max(LEAST_ITEMS, self._begun) or now_s - self._began_s < LEAST_S:
            return None
        since_s = now_s - self._last_s
        # While no item ends, the pace falls.
        item_s = max(self._weighted_s / self._weighted, (self._weighted_s + since_s) / (self._weighted + 1))
        rest = due + unknown * self._share_due
        left_s = max(rest * item_s - min(since_s, item_s), 0.0)
        return left_s if left_s or not rest else None  # the last item takes longer than others: nobody knows how long

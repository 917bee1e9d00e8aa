"""How long the rest of some work takes, by its pace so far; and what work tells of its progress."""

import time
from collections.abc import Callable

LEAST_ITEMS = 3
LEAST_S = 2.0
"""Before so many items are done, and so much time has passed, the pace is not known."""
HALF_LIFE = 32
"""Items after which an item's time has half of its weight."""

Tell = Callable[[int], None]
"""Told how many more items of some work are done."""


def untold(_count: int) -> None:
    """A `Tell` for work that nobody follows."""


class Pace:
    """The pace of items that take time. Items that take none, since they were done before, are not part of it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """clock: the time in seconds."""
        self._clock = clock
        self._began_s = self._last_s = clock()
        self._begun = 0
        self.count = 0
        """Items that are done."""
        self._weighted, self._weighted_s = 0.0, 0.0
        self._share_due = 1.0

    def begun(self) -> None:
        """An item has begun. Where this is told, the time before the first one does not count.

        Those that are under way side by side when the first one ends all end late, so that the pace shows only when they all have.
        """
        if not self._begun and not self.count:
            self._began_s = self._last_s = self._clock()
        if not self.count:
            self._begun += 1

    def done(self, count: int = 1) -> None:
        """So many items that take time are done."""
        now_s = self._clock()
        # Items that end together are a small part of what is remembered, so that their order matters little.
        kept = 0.5 ** (count / max(HALF_LIFE, 4 * self._begun))
        self.count += count
        self._weighted = self._weighted * kept + count
        self._weighted_s = self._weighted_s * kept + now_s - self._last_s
        self._last_s = now_s

    def drew(self, due: int, free: int) -> None:
        """Of the items of which this was not known, so many take time, and so many take none."""
        kept = 0.5 ** ((due + free) / HALF_LIFE)
        self._share_due = self._share_due * kept + (1 - kept) * due / (due + free)

    def left_s(self, due: int, unknown: int = 0) -> float | None:
        """Seconds that the rest takes; None where too little is known.

        due: items left that take time. unknown: items left of which that is not known; the last ones that were drawn say how many do.
        """
        now_s = self._clock()
        if self.count < max(LEAST_ITEMS, self._begun) or now_s - self._began_s < LEAST_S:
            return None
        since_s = now_s - self._last_s
        # While nothing ends, the pace falls.
        item_s = max(self._weighted_s / self._weighted, (self._weighted_s + since_s) / (self._weighted + 1))
        rest = due + unknown * self._share_due
        return max(rest * item_s - min(since_s, item_s), 0.0)

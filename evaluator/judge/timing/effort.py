"""How much time a timing gets: all of it, or little as one of several workloads."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Repeats(NamedTuple):
    """How often something is measured."""

    most: int
    least: int
    seconds: float
    """After `least` times, none begins after this time."""

    def turns(self) -> Iterator[int]:
        """Yield the number of each turn, from 0, until there are enough."""
        start = time.monotonic()
        for number in range(self.most):
            if number >= self.least and time.monotonic() - start > self.seconds:
                return
            yield number


@dataclass(eq=False)
class Effort:
    """Numbers of calls, and time limits."""

    warm_up_s: float
    """Time limit of the warm-up, after the fewest calls."""
    enough_s: float
    """After limits.MIN_CALLS and `least_blocks`, the timing ends at this time, even if the interval is wide."""
    least_blocks: int
    """Minimum blocks of several calls for a confidence interval."""
    settling_s: float
    """Time limit for further reveals in the end: an output that is late by chance must not count as deferred."""
    kernels: Repeats
    """Calls in which each kernel is timed, for the record."""
    alone: Repeats
    """Blocks of the baseline alone."""
    rows: Repeats
    """Rows of each kind, single calls or bursts, behind the gate."""
    ungated_rows: Repeats
    """Rows of each kind without the gate, where other programs delay most."""


FULL = Effort(
    warm_up_s=0.3,
    enough_s=1.0,
    least_blocks=15,
    settling_s=0.5,
    kernels=Repeats(3, 1, 0.3),
    alone=Repeats(16, 2, 0.2),
    rows=Repeats(5, 3, 0.2),
    ungated_rows=Repeats(40, 5, 0.4),
)
BRIEF = Effort(
    warm_up_s=0.05,
    enough_s=0.15,
    least_blocks=8,
    settling_s=0.05,
    kernels=Repeats(0, 0, 0.0),
    alone=Repeats(4, 2, 0.2),
    rows=Repeats(3, 3, 0.0),
    ungated_rows=Repeats(40, 5, 0.1),
)
"""For each of several workloads, whose mean counts."""

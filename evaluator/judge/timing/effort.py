"""How much time a timing gets: all of it, or little as one of several workloads."""

from dataclasses import dataclass


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
    singles: int
    """Maximum single calls behind the gate."""
    bursts: int
    """Maximum bursts behind the gate."""
    hot_bursts: int
    """Maximum bursts without flushes."""
    alone_blocks: int
    """Maximum blocks of the baseline alone."""
    times_kernels: bool
    """Whether further calls time each kernel."""


FULL = Effort(0.3, 1.0, 15, 0.5, 15, 15, 7, 16, times_kernels=True)
BRIEF = Effort(0.05, 0.15, 8, 0.05, 7, 5, 3, 4, times_kernels=False)
"""For one of several workloads: the earlier ones have warmed the device."""

"""How long the device is kept busy before a call that is timed for itself, so that the host has launched the call by the time it begins."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

FACTOR = 1.5
MORE_MS = 0.03
MOST_MS = 10.0
"""A head start is as long as launching a call takes the host, by this factor and this much, and no longer than that; nor are those of all
calls of a block together twice as long."""
LARGE_BYTES = 1 << 26
MOST_OF_LARGE_MS = 0.3
"""The most where answers are so large: kernels that make them take the device longer than launching them takes the host, and a worker that
has been taken over could hide work in its head start by as long as the judge's clock allows for the copying of answers."""
TRIED_CYCLES = 1_000_000
TRIES = 5


@dataclass(frozen=True)
class LaunchLead:
    """By the device's own clock, which is not always as fast."""

    cycles: int = 0
    ms: float = 0.0
    """About."""

    @staticmethod
    def of(host_ms: Sequence[float], length: int, device: torch.device, answer_bytes: int = 0) -> "LaunchLead":
        """For the slowest of several sides, of what launching a call takes each, in blocks of so many calls with so large an answer."""
        most_ms = MOST_OF_LARGE_MS if answer_bytes > LARGE_BYTES else MOST_MS
        ms = min(FACTOR * max(host_ms) + MORE_MS, most_ms, 2 * MOST_MS / length)
        return LaunchLead(round(ms * _cycles_per_ms(device)), ms)


NONE = LaunchLead()


def _cycles_per_ms(device: torch.device) -> float:
    """The most of several tries: whoever has the device for some of one makes it seem slow."""
    return max(_tried_cycles_per_ms(device) for _ in range(TRIES))


def _tried_cycles_per_ms(device: torch.device) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in "se")  # type: ignore[no-untyped-call]
    with torch.cuda.device(device):
        torch.cuda._sleep(TRIED_CYCLES)  # type: ignore[no-untyped-call]
        start.record()
        torch.cuda._sleep(TRIED_CYCLES)  # type: ignore[no-untyped-call]
        end.record()
        torch.cuda.synchronize(device)
    return float(TRIED_CYCLES / start.elapsed_time(end))

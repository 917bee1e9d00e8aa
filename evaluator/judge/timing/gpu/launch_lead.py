"""The launch lead: the device is kept busy before each single timed call, until the host has launched the call."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from evaluator.judge import limits

FACTOR = 1.5
MORE_MS = 0.03
MOST_MS = 10.0
"""A launch lead is FACTOR times the host's launch time of a call, plus MORE_MS, but at most MOST_MS. Those of a whole block take at most
twice as long."""
LARGE_BYTES = 1 << 26
"""Kernels with larger outputs take longer than their launches. A hijacked worker could hide work in their lead: as much as the judge's
clock allows for copying outputs."""
TRIED_CYCLES = 1_000_000
TRIES = 5


@dataclass(frozen=True)
class LaunchLead:
    """A launch lead, in cycles of the device's clock. The clock's rate varies."""

    cycles: int = 0
    ms: float = 0.0
    """About."""

    @staticmethod
    def of(host_ms: Sequence[float], length: int, device: torch.device, answer_bytes: int = 0) -> "LaunchLead":
        """The launch lead for blocks of `length` calls. host_ms: launch time of a call by each worker; the slowest worker counts."""
        most_ms = limits.TALK_SLACK_MS if answer_bytes > LARGE_BYTES else MOST_MS
        ms = min(FACTOR * max(host_ms) + MORE_MS, most_ms, 2 * MOST_MS / length)
        return LaunchLead(round(ms * _cycles_per_ms(device)), ms)


NONE = LaunchLead()


def _cycles_per_ms(device: torch.device) -> float:
    """The maximum of several tries, since another process on the device may slow down a try."""
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

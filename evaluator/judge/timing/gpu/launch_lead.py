"""The launch lead: the device is kept busy before each single timed call, until the host has launched the call."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from evaluator.judge import limits

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
        most_ms = limits.TALK_SLACK_MS if answer_bytes > limits.LEAD_LARGE_BYTES else limits.LEAD_MOST_MS
        ms = min(limits.LEAD_FACTOR * max(host_ms) + limits.LEAD_MORE_MS, most_ms, 2 * limits.LEAD_MOST_MS / length)
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

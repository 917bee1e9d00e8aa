"""The judge's limits: each number that decides a verdict, a charge or a rerun, with its reason. Sizes and durations that decide nothing are
where they are used.

`python -m evaluator.judge.limits` prints them as a table.
"""

import sys
from typing import NamedTuple, TypeVar

Number = TypeVar("Number", int, float)


class Limit(NamedTuple):
    """A number, and why it is what it is."""

    value: float
    unit: str
    why: str
    source: str
    """What it has to agree with. `chosen`: nothing that was measured. `measured`: honest submissions and idle machines stay within it."""


_made: list[Limit] = []


def _limit(value: Number, unit: str, why: str, source: str = "chosen") -> Number:
    """The number itself, which is noted with its reason."""
    _made.append(Limit(value, unit, why, source))
    return value


# Times that are charged

SLACK_SHARE = _limit(0.05, "of the claim", "The judge's clock may exceed a claim by this share of it, in each measurement.", "measured")
SINGLE_SLACK_MS = _limit(
    0.15, "ms", "Slack of a single call: the overhead of a request differs this much between two workers on a busy machine.", "measured"
)
UNGATED_SLACK_MS = _limit(0.25, "ms", "Slack of a single call without the gate, whose time includes the host's.", "measured")
TALK_SLACK_MS = _limit(
    0.3, "ms", "Slack of whole requests, which include messages, and of times until the judge has its own copy of the output.", "measured"
)
BURST_SLACK_MS = _limit(
    0.1, "ms a burst", "Slack of a burst: the second smallest of many bursts differs this much between two workers.", "measured"
)
BURST_SLACK_SHARE = _limit(0.5, "of the claim", "Maximum slack of a burst, so that a short call can't hide more.")
LAUNCH_GAP_MS = _limit(0.002, "ms", "Maximum gap between kernels in a burst. It replaces the time of events.", "measured")
CPU_SLACK_MS = _limit(
    0.1, "ms a request", "CPU time before or after a block, or until a reveal, beyond the baseline's, that may be bookkeeping.", "measured"
)
REVEAL_SLACK_SHARE = _limit(0.25, "of the baseline's", "The reveal of an output may take this much longer than the baseline's.", "measured")
"""Also of a call, for the sum of a watched call and the work after it."""
EMPTY_KERNEL_MS = _limit(0.00065, "ms", "An empty kernel's time: it is no part of the events' time, which is subtracted.", "CUPTI, H200")
LEAST_MS = _limit(1e-3, "ms", "The resolution of the judge's clock: no call is shorter.")
BLANK_SHARE = _limit(
    0.75,
    "of a short block",
    "Maximum of an empty request that is subtracted: a block 20 times as fast as the baseline's may be 2/3 request.",
)
BLANK_MS = _limit(0.3, "ms", "An empty request that is subtracted takes less. On an idle machine it takes 0.05 to 0.2 ms.", "measured")
BLANK_SMALL_SHARE = _limit(0.05, "of a short block", "An empty request that takes longer than BLANK_MS may take this share.")

# The statistic of samples on one CPU core

ALIKE_SHARE = _limit(0.25, "of a median call", "Calls of the lower quartile may use this much less CPU time.")
ELSEWHERE_SHARE = _limit(0.05, "of the CPU time", "Maximum CPU time of the submission's other processes.")
WAITING_SHARE = _limit(0.1, "of a call", "A call may wait longer than the baseline's by this share of itself.")
WAITING_MS = _limit(0.1, "ms a block", "Or a timing block by this time.")

LIMITS = dict(zip([name for name in globals() if name.isupper()], _made, strict=True))
"""The limits by name, in their order."""


def table() -> str:
    """All limits, as a Markdown table."""
    rows = (f"| `{name}` | {limit.value:g} {limit.unit} | {limit.why} | {limit.source} |\n" for name, limit in LIMITS.items())
    return "| limit | value | why | source |\n| --- | --- | --- | --- |\n" + "".join(rows)


if __name__ == "__main__":
    sys.stdout.write(table())

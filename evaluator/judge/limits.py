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
    """The figure that it has to agree with. `chosen`: no figure is known. `measured`: the figure in `why` was."""


_made: list[Limit] = []


def _limit(value: Number, unit: str, why: str, source: str = "chosen") -> Number:
    """The number itself, which is noted with its reason."""
    _made.append(Limit(value, unit, why, source))
    return value


# When an answer is right. An error is a share of |oracle| + scale.

FLOAT64_TOLERANCE = _limit(1e-11, "error", "Base tolerance of float64.")
FLOAT32_TOLERANCE = _limit(
    4e-5, "error", "Of float32, 340 units: a sum of 400,000 terms errs by 1e-5, half precision in its place by 2e-4.", "measured"
)
FLOAT16_TOLERANCE = _limit(2e-3, "error", "Of float16, two units: rounding of intermediate results dominates.")
BFLOAT16_TOLERANCE = _limit(1.6e-2, "error", "Of bfloat16, two units.")
FLOAT8_SHARE = _limit(0.25, "of a unit", "Of FP8, so that every other value of a large element is in doubt.")
LONG_SUM_UNITS = _limit(3.0, "roundings", "A sum of n terms in float32 may err by this many, times the square root of n.")
LONG_SUM_LIMIT = _limit(2e-4, "error", "Maximum of that. Products with 10 bits of mantissa err by about this much and more.", "measured")
REFERENCE_FACTOR = _limit(8.0, "times the reference's error", "An answer may err by this much.")
FLOAT16_FACTOR = _limit(
    5.0, "times the base tolerance", "Beyond it the reference's error widens the tolerance only by LEAST_REFERENCE_FACTOR."
)
BFLOAT16_FACTOR = _limit(4.0, "times the base tolerance", "The same for bfloat16, in which 20 base tolerances are those of eight bits.")
LEAST_REFERENCE_FACTOR = _limit(
    2.0, "times the reference's error", "An answer may always err by this much: its largest error is one of as many roundings."
)
REFERENCE_ERRORS = _limit(2.0, "times its known error", "In timed calls, the reference errs at most this much.")
REFERENCE_SHARE = _limit(
    1e-2, "of elements", "If the reference errs by more than the base tolerance at fewer, these hang on a rounding and widen nothing."
)
MIN_ROW_ELEMENTS = _limit(16, "elements", "Shorter rows have no scale of their own.")
GROSS_ERROR = _limit(
    3e-2, "of (oracle - mean) + spread", "A larger error is gross. TF32 errs by 1e-3, a constant output by a half and more.", "measured"
)
PRECISION_LOSS_BOUND = _limit(1e-2, "error", "A wrong answer within this error is `precision_loss`, beyond it `wrong_values`.")
INACCURATE_REFERENCE = _limit(
    4e-2, "error", "If a reference errs by more, an answer whose RMS error is within PRECISION_LOSS_BOUND is `precision_loss`, too."
)
ISOLATED_SHARE = _limit(1e-3, "of elements", "So few wrong elements are isolated. If others are wrong in a second call, it is a race.")
CLOSER = _limit(20.0, "times closer", "An answer equals a variant of the reference if both of its errors are so much smaller.")
NEARER = _limit(3.0, "times nearer", "An answer equals a disguise of a forbidden type if its mean error is so much smaller.")

# Where rounding decides, or the reference is too inaccurate to judge by

DOUBT_SHARE = _limit(0.5, "of elements", "Maximum that may be in doubt, unless an output is one index for each row.")
DOUBT_ELEMENTS = _limit(4, "elements", "So many always may.")
MOST_RUNS = _limit(
    128, "runs", "Of the reference, to find values of elements in doubt. One that a tenth of them take is missed once in 700,000."
)
MOST_OPERATORS = _limit(1 << 17, "operators", "Called in all these runs: a reference may loop over positions.")
LEAST_RUNS = _limit(4, "runs", "Of a reference with very many operators.")
UNSEEN_RANGE = _limit(
    10.0,
    "ranges, divided by the runs",
    "The range of an element's values in few runs is widened by this much at both ends: in 6 runs of delta attention, 64 of 682 honest "
    "elements are beyond the range, one beyond twice of it.",
    "measured",
)
FRUITLESS_TRIES = _limit(256, "elements times runs", "After as many that explain none, no further runs.")
SUM_UNITS = _limit(0.25, "units", "Terms that are added in turn err as if each were wrong by this, times the square root of their number.")
UNCERTAIN_ERROR = _limit(0.1, "error", "If a reference errs by more, in as many elements as follow, rounding decides on the output.")
UNCERTAIN_SHARE = _limit(0.05, "of elements", "Gates that choose some of many depend on rounding at fewer.")
UNCERTAIN_ELEMENTS = _limit(16, "elements", "And this many: lone numbers do so by chance.")
UNINFORMATIVE_FACTOR = _limit(2.5, "base tolerances", "A reference that errs by more is too inaccurate.")
UNINFORMATIVE_SHARE = _limit(1e-3, "of exact elements", "The same for one that differs from its oracle in more.")
ZERO_ERROR = _limit(0.8, "error", "A tolerance of this much accepts zeros, and most other answers.")
AGREEMENT_FACTOR = _limit(4, "base tolerances", "Slices of a reference may differ so much: other sizes have other kernels.")
AGREEMENT_SHARE = _limit(1e-3, "of elements", "And in these by more, where a sum is cancelled or a rounding decides.")

# Rounds

ROUNDS = _limit(5, "rounds", "Compared by the tolerance. One is too few: a constant passes a mean over random targets once in four.")
UNCHANGED_SPREAD = _limit(1e-5, "of the largest", "An output whose elements differ by less does not depend on the inputs.")
SLOW_CALL_S = _limit(0.05, "s", "A submission whose call takes longer, and as the next says, gets fewer rounds: others wait.")
SLOW_FACTOR = _limit(10, "times the reference", "See SLOW_CALL_S.")

# Times that are charged

SLACK_SHARE = _limit(0.05, "of the claim", "The judge's clock may exceed a claim by this share of it, in each measurement.")
ROW_SLACK_MS = _limit(
    0.02,
    "ms a row",
    "Slack of a single call or a burst behind the gate: the device's switches, flushes and copies differ by less.",
    "measured",
)
ROW_SLACK_SHARE = _limit(0.02, "of the time without calls", "It may be more if inputs take long to copy.")
UNGATED_SLACK_MS = _limit(
    0.15, "ms a row", "The same without the gate: a request's time on the host differs by this much between two workers.", "measured"
)
TALK_SLACK_MS = _limit(0.3, "ms", "Slack of whole requests, which include messages.")
BURST_SLACK_SHARE = _limit(0.5, "of the claim", "Maximum slack of a burst, so that a short call can't hide more.")
LAUNCH_GAP_MS = _limit(0.002, "ms", "Maximum gap between kernels in a burst. It replaces the time of events.")
CPU_SLACK_MS = _limit(
    0.1, "ms a request", "CPU time before or after a block, or until a reveal, beyond the baseline's, that may be bookkeeping."
)
REVEAL_SLACK_SHARE = _limit(0.25, "of the baseline's", "The reveal of an output may take this much longer than the baseline's.")
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

# When a timing has enough calls

MIN_CALLS = _limit(30, "calls", "Minimum for a confidence interval.")
LEAST_CALLS = _limit(5, "calls", "Minimum if calls are slow.")
SLOW_CALLS = _limit(3, "calls", "Minimum for a very slow submission.")
BUDGET_S = _limit(1.2, "s", "After LEAST_CALLS, stop when the calls alone have taken this long: slow kernels need fewer calls.")
LONG_S = _limit(0.5, "s", "After this time and LONG_BLOCKS, a narrow interval is enough: calls are slow, or their inputs are large.")
LONG_BLOCKS = _limit(10, "blocks", "Minimum for LONG_S to count.")
CONFIDENCE = _limit(0.95, "of resamples", "The confidence of a speedup's interval.", "usual")
INTERVAL_WIDTH = _limit(0.01, "of the speedup", "A narrower interval is enough.")
BLANKS_S = _limit(0.2, "s", "After LEAST_CALLS empty requests, time limit of further ones.")
SLOW_BLANKS_S = _limit(1.0, "s", "The time limit if even the fastest empty request takes too long.")

# How calls are timed

LONG_CALL_MS = _limit(20.0, "ms", "Calls of this length need no launch lead: their first launch takes a thousandth of it on the host.")
LEAD_FACTOR = _limit(1.5, "times the launch", "The device is busy for this long until the host has launched a call.")
LEAD_MORE_MS = _limit(0.03, "ms", "And for this time more.")
LEAD_MOST_MS = _limit(10.0, "ms", "Maximum launch lead. The leads of a whole block take at most twice as long.")
LEAD_LARGE_BYTES = _limit(
    1 << 26, "bytes", "Kernels with larger outputs take longer than their launches: their lead is at most TALK_SLACK_MS."
)
"""A hijacked worker could hide work in a lead: as much as the judge's clock allows for copying outputs."""
SPIN_S = _limit(0.1, "s", "Minimum time for enqueueing behind the gate. On a GPU's machine the judge waits awake for so long.")
MOST_PATIENCE_S = _limit(
    0.5, "s", "Maximum time for enqueueing: twice the last time. If it takes longer, calls are not held behind the gate."
)
QUEUE_MS = _limit(1.0, "ms", "As many launches as the device's queue holds, 1024, take longer.")
BURST_MS = _limit(15.0, "ms", "Approximate maximum of a burst. A call that takes more than half of it is measured as well alone.")
STILL_SLOW_FACTOR = _limit(5, "times the baseline", "A very slow submission of the rounds is timed in full unless it exceeds this.")
STILL_SLOW_MS = _limit(20.0, "ms", "And this: other programs may have lengthened two of three short calls.")
QUIET_MS = _limit(0.02, "ms", "A process that uses less CPU time between two readings is waiting.")
QUIET_LOOKS = _limit(2, "readings", "After so many quiet ones in a row, a process is done.")
WAITS_WITHIN_S = _limit(
    0.002, "s", "Time for a process to begin waiting after its reply; with a free core it takes a twentieth.", "measured"
)

# Which timed outputs are compared

REVEAL_SHARE = _limit(0.5, "of blocks", "After these, outputs are copied by the clock, so that deferred work is charged.")
LONE_REVEAL_SHARE = _limit(0.6, "of blocks", "The same for blocks of one call on a CPU, of which there are few.")
LONE_CHANGED_SHARE = _limit(0.95, "of blocks", "The same for such a block in whose inputs a few values are changed.")
PICKED = _limit(4, "outputs", "Of each such block, and of each burst, as many are taken at random.")
CHECKS = _limit(8, "outputs", "Minimum number that is compared, on average.")
CPU_CHECKS = _limit(30, "outputs", "The same on a CPU, which has no calls behind a gate.")
CHECKS_S = _limit(0.2, "s", "Time for comparing further outputs.")
CPU_CHECKS_S = _limit(0.5, "s", "The same on a CPU.")
FEW_CHANGED_SHARE = _limit(0.5, "of inputs", "In these, a few values are changed: sampling the inputs does not detect them.")
CALLS_AGAIN_S = _limit(0.015, "s", "On a GPU, as many calls with changed inputs as the baseline makes in this time.")
MOST_CALLS_AGAIN = _limit(8, "calls", "Maximum of these. A copy that is checked by every sixteenth value shows in half of them.")
LEAST_CALLS_AGAIN = _limit(3, "calls", "Minimum of these on a GPU.")
OUTLIER_BLOCKS = _limit(6, "blocks", "Blocks with outliers that are no samples, for a submission whose outputs overflow from them.")
OUTLIER_SHARE = _limit(0.25, "of blocks", "After these, such a block is made.")
LEAST_WATCH_S = _limit(0.002, "s", "Minimum time that processes are watched after a call: as long as one of the baseline's.")
MOST_WATCH_S = _limit(0.02, "s", "Maximum of that time.")
MIN_REVEALS = _limit(2, "reveals", "Minimum, each compared: further blocks make up for missing ones.")
MIN_WATCHES = _limit(5, "blocks", "Minimum after which the processes are watched, on a CPU.")
SETTLED_REVEALS = _limit(16, "reveals", "Wanted if there is time: an output that is late by chance must not count as deferred.")
ASKED_AGAIN = _limit(3, "calls", "After a wrong timed output, calls with the same inputs in blocks, and as many alone.")

# Other checks of right answers

PEAK_MARGIN = _limit(
    1.3,
    "times the measured peak",
    "No device is faster: copies reach 85 to 93 % of the memory's peak, products 80 % of theirs.",
    "H200: 4.28 of 4.8 TB/s, 790 of 989 TFLOP/s",
)
WRITE_MARGIN = _limit(1.5, "times the rate of copies", "No device writes faster.")
FASTEST_OF = _limit(10, "calls", "The fastest counts, since other programs may use the CPU cores.")
DRAWS = _limit(
    15, "draws", "A problem is refused for a trivial answer that passes in all: a number that survives rounding by chance does not."
)
LOWERED_SHARE = _limit(0.01, "of a timing", "A clock that was lowered for less has not changed the figures.")

# Timeouts and reruns

START_S = _limit(60.0, "s", "Timeout of a worker's start, which may import torch first, and of CUDA in it.")
LOAD_S = _limit(120.0, "s", "Timeout of loading and of constructing, without builds.")
COMPILE_S = _limit(300.0, "s", "Timeout of the first call of a model in torch.compile.")
TRIAL_S = _limit(20.0, "s", "Timeout of a compiler's trial, for which the device may have to wait.")
MAX_BUILDS = _limit(32, "builds", "Maximum that one submission may request.")
MAX_BUILDING_S = _limit(900.0, "s", "Maximum total time of builds: afterwards a further one is refused.")
AGAIN_FACTOR = _limit(5, "times the first", "Timeout of a step that runs again, with what the following limits add.")
SECOND_S = _limit(3.0, "s", "More for a call that is made again to name a kernel: an endless one holds the device for that time.")
RELOAD_S = _limit(2.0, "s", "Minimum for a second load while the device is held.")
SHORT_LOAD_S = _limit(0.5, "s", "If loading took less, the device is held during the second load.")
ABLATED_S = _limit(10.0, "s", "More for a call without own kernels: a loop that waits for their output does not end.")
FREE_SHARE = _limit(
    0.5, "of the memory", "With less free, no other submission shares the GPU. The models of all workloads are kept if they need less."
)
FAIR_SHARE = _limit(0.5, "of the device's memory", "If a submission uses more, it is the cause when the judge lacks memory.")

LIMITS = dict(zip([name for name in globals() if name.isupper()], _made, strict=True))
"""The limits by name, in their order."""


def table() -> str:
    """All limits, as a Markdown table."""
    rows = (f"| `{name}` | {limit.value:.12g} {limit.unit} | {limit.why} | {limit.source} |\n" for name, limit in LIMITS.items())
    return "| limit | value | why | source |\n| --- | --- | --- | --- |\n" + "".join(rows)


if __name__ == "__main__":
    sys.stdout.write(table())

"""The warm-up of a timing: calls until times are steady, then timing blocks that don't count, to choose the launch lead."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evaluator.judge.timing.gpu.launch_lead import LaunchLead
from evaluator.judge.timing.interleave import Interleaver
from evaluator.judge.timing.timed_worker import TimedWorker

WARM_UP_CALLS = 4
STEADY_SHARE = 0.02
"""Warm-up ends when, for every worker, the medians of the last WARM_UP_CALLS calls and of the ones before differ by this share or less."""
MOST_WARM_UP_CALLS = 100


@dataclass(frozen=True)
class WarmUp:
    """The result of a warm-up."""

    calls: int
    """Calls of each worker."""
    steady: bool
    """Whether times were steady before the warm-up's time was over."""
    call_ms: float
    """Time of the slowest worker's last calls."""


def warm_up(interleaver: Interleaver, most_s: float, *, is_slow: bool = False) -> WarmUp:
    """Call all workers in turns until their times are steady, or `most_s` is reached. Call a candidate that `is_slow` once.

    Raises WorkerError, ProtocolError, BaselineFailedError, ProblemError.
    """
    start = time.monotonic()
    times: list[tuple[TimedWorker, list[float]]] = [(timed, []) for timed in interleaver.timed_workers]
    calls, steady = 0, False
    while not steady and (calls < WARM_UP_CALLS or time.monotonic() - start < most_s):
        calls += 1
        for timed, times_ms in times:
            with interleaver.sparing(timed):
                times_ms.append(interleaver.warming_call(timed))
        times = [(timed, times_ms) for timed, times_ms in times if timed in interleaver.timed_workers]
        steady = all(is_steady(times_ms) for _, times_ms in times)
        if calls >= (1 if is_slow else MOST_WARM_UP_CALLS):
            break
    for _ in range(WARM_UP_CALLS if is_slow else 0):
        interleaver.warming_call(interleaver.baseline)
    return WarmUp(calls, steady, max(statistics.median(times_ms[-WARM_UP_CALLS:]) for _, times_ms in times))


def is_steady(times_ms: Sequence[float]) -> bool:
    """Whether the last WARM_UP_CALLS took as long as the previous ones."""
    last, before = times_ms[-WARM_UP_CALLS:], times_ms[-2 * WARM_UP_CALLS : -WARM_UP_CALLS]
    if len(before) < WARM_UP_CALLS:
        return False
    middle_ms = statistics.median(last)
    return abs(middle_ms - statistics.median(before)) <= STEADY_SHARE * middle_ms


def warm_blocks(interleaver: Interleaver) -> None:
    """Run one timing block of each worker that does not count."""
    for timed in interleaver.timed_workers:
        with interleaver.sparing(timed):
            interleaver.block(timed)
            timed.samples.forget_calls()


def give_launch_lead(interleaver: Interleaver, probe: Callable[[TimedWorker], None], answer_bytes: int, *, candidate_may: bool) -> None:
    """Give workers a launch lead, from the host's time in a block that does not count. `probe` tells whether a worker can be held.

    The baselines have it even if the candidate has none, so the candidate gains nothing by avoiding it. No worker has it if this machine
    has no gate, the reference itself can't be held behind it, or calls are not timed one by one.
    """
    candidate, baseline = interleaver.candidate, interleaver.baseline
    if candidate.gate is None or not interleaver.protocol.times_each_call:
        return
    for timed in interleaver.timed_workers:
        with interleaver.sparing(timed):
            interleaver.block(timed)
    interleaver.inputs.forget()
    if candidate_may:
        probe(candidate)
    probe(baseline)
    if baseline.is_gated:
        led = [timed for timed in interleaver.timed_workers if timed is not candidate or (candidate_may and timed.is_gated)]
        hosts_ms = [statistics.median(timed.samples.host_ms) for timed in led]
        launch_lead = LaunchLead.of(hosts_ms, interleaver.length, interleaver.device, answer_bytes)
        for timed in led:
            timed.launch_lead = launch_lead
    warm_blocks(interleaver)

"""Rules that disqualify: for escapes, forged results, and timings that no honest submission has.

`reference_access` is given here for other workers only. An import of the judge's modules is an exception (`exception_rules.py`).
"""

from evaluator.diagnosis.rule import rule
from evaluator.diagnosis.verdict import Verdict, doing
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, TimingEvidence

VIOLATION_SIGNAL = "SIGSYS"
"""Signal that ends a worker after a system call of `evaluator.sandbox.levels.seccomp.DEADLY`."""
ATTEMPTS = (Category.SANDBOX_VIOLATION, Category.REFERENCE_ACCESS, Category.FORGED_RESULT)
"""Categories that no honest submission gets, in any worker."""
UNEXPLAINED_MS = 0.3
UNEXPLAINED_SHARE = 0.25
"""The larger of both: how far the judge's clock may exceed the events. More is tampering, and far beyond the clock's spread."""
DEFERRED_FACTOR = 2.0
DEFERRED_MS = 1.0
"""Work was deferred if the output takes longer to arrive than DEFERRED_FACTOR times the call's time plus DEFERRED_MS."""
UNFLUSHED_SHARE = 0.1
"""Share of all calls that may lack a flush: a kernel that writes past its output may spoil one by accident."""
BACKGROUND_MS = 0.3
BACKGROUND_SHARE = 0.25
"""The larger of both: CPU time outside of a call that may be bookkeeping. More is work."""
LEAST_FLOOR_MS = 2e-3
"""Minimum times below this are ignored, since a launch takes as long."""


@rule(order=10, gives=[Category.FORGED_RESULT])
def invalid_frame(evidence: Evidence) -> Verdict | None:
    if evidence.protocol_error:
        return Verdict(Category.FORGED_RESULT, f"an invalid frame on the result channel: {evidence.protocol_error}")
    return None


@rule(order=20, gives=[Category.SANDBOX_VIOLATION])
def forbidden_system_call(evidence: Evidence) -> Verdict | None:
    """The operating system ends a process by SIGSYS for a system call that only serves to escape. It does not say which one."""
    if evidence.exit is None or evidence.exit.signal != VIOLATION_SIGNAL:
        return None
    return Verdict(
        Category.SANDBOX_VIOLATION, f"{doing(evidence.exit.stage)} made a system call that only serves to escape the sandbox (SIGSYS)"
    )


@rule(order=30, gives=ATTEMPTS)
def attempt_in_another_worker(evidence: Evidence) -> Verdict | None:
    """An attempt in a worker other than the timed one. A worker whose kernels are left out may send any frame."""
    ablation = evidence.ablation
    if ablation is not None and ablation.category in ATTEMPTS and ablation.category is not Category.FORGED_RESULT:
        return Verdict(ablation.category, f"with its own kernels left out: {ablation.message}")
    for shape in evidence.shapes:
        if shape.category in ATTEMPTS:
            return Verdict(shape.category, f"in the shapes {shape.case!r}: {shape.message}")
    return None


@rule(order=100, gives=[Category.CACHED_OUTPUT, Category.ESCAPED_STREAM, Category.MUTATED_INPUT, Category.PRECISION_LOSS])
def wrong_timed_answer(evidence: Evidence) -> Verdict | None:
    wrong = evidence.wrong_timed_answer
    if wrong is None:
        return None
    if wrong.category is Category.CACHED_OUTPUT and wrong.back_to_back and any(launch.side_stream for launch in evidence.launches):
        message = f"wrong unless the device is synchronized first; kernels ran on side streams: {wrong.message}"
        return Verdict(Category.ESCAPED_STREAM, message)
    where = f"timed call {wrong.call}" if wrong.call else "a call before the timed ones"
    return Verdict(wrong.category, f"right in every round, wrong in {where}: {wrong.message}")


@rule(order=110, gives=[Category.DEFERRED_WORK])
def deferred_work(evidence: Evidence) -> Verdict | None:
    """Outputs repeatedly take far longer to arrive than the calls took: their work was deferred.

    An output that is only slow to copy, because of its layout, is charged for that instead.
    """
    timing = evidence.timing
    if timing is None or timing.alone is None or not timing.deferred_ms or _with_others(evidence, timing):
        return None
    if min(len(side.reveal_ms) for side in (timing.candidate, timing.alone)) < 2:
        return None
    took_ms = timing.candidate.work_ms
    if timing.deferred_ms <= DEFERRED_FACTOR * took_ms + DEFERRED_MS:
        return None
    message = f"a call takes {took_ms:.3g} ms; its output then takes {timing.deferred_ms:.3g} ms longer to arrive than the baseline's"
    return Verdict(Category.DEFERRED_WORK, message)


@rule(order=120, gives=[Category.TIMING_TAMPERING])
def work_ahead(evidence: Evidence) -> Verdict | None:
    """The submission's processes compute while the inputs of the next call arrive, before the call."""
    timing = evidence.timing
    if timing is None or not _much(timing.ahead_ms, timing):
        return None
    took_ms = timing.candidate.work_ms
    message = f"a call takes {took_ms:.3g} ms; its processes compute for {timing.ahead_ms:.3g} ms before the call starts"
    return Verdict(Category.TIMING_TAMPERING, message)


@rule(order=130, gives=[Category.DEFERRED_WORK])
def work_in_background(evidence: Evidence) -> Verdict | None:
    """The submission's processes go on computing after each call has returned."""
    timing = evidence.timing
    if timing is None or not _much(timing.background_ms, timing):
        return None
    took_ms = timing.candidate.work_ms
    message = f"a call takes {took_ms:.3g} ms; its processes then compute for {timing.background_ms:.3g} ms more"
    return Verdict(Category.DEFERRED_WORK, message)


def _with_others(evidence: Evidence, timing: TimingEvidence) -> bool:
    """Whether other work lengthens the judge's clock on a GPU. Then the extra time is charged, but does not disqualify. On a CPU the rules
    need CPU time, which other work does not lengthen."""
    return timing.clock == "cuda_event" and evidence.conditions is not None and evidence.conditions.others_in_clock


def _much(processor_ms: float, timing: TimingEvidence) -> bool:
    """Whether this much CPU time outside of a call is too much for bookkeeping."""
    return processor_ms > max(BACKGROUND_MS, BACKGROUND_SHARE * timing.candidate.work_ms)


@rule(order=140, gives=[Category.TIMING_TAMPERING, Category.ESCAPED_STREAM])
def unexplained_time(evidence: Evidence) -> Verdict | None:
    timing = evidence.timing
    if timing is None or timing.unexplained_ms is None:
        return None
    witnesses = len(timing.candidate.single_ms) + len(timing.candidate.burst_ms) + timing.unflushed_bursts
    if timing.unflushed > UNFLUSHED_SHARE * timing.calls or timing.unflushed_bursts > UNFLUSHED_SHARE * witnesses:
        calls = timing.unflushed + timing.unflushed_bursts
        message = f"the worker skipped the required flush of the L2 cache before {calls} calls"
        return Verdict(Category.TIMING_TAMPERING, message)
    if _with_others(evidence, timing):
        return None
    claimed_ms = timing.candidate.median_ms
    if timing.unexplained_ms < max(UNEXPLAINED_MS, UNEXPLAINED_SHARE * claimed_ms):
        return None
    message = f"its events claim {claimed_ms:.4g} ms per call; the judge's clock measures {timing.unexplained_ms:.4g} ms more"
    sideways = any(launch.own and launch.side_stream for launch in evidence.launches)
    return Verdict(Category.ESCAPED_STREAM if sideways else Category.TIMING_TAMPERING, message)


@rule(order=150, gives=[Category.IMPLAUSIBLE_SPEED])
def implausible_speed(evidence: Evidence) -> Verdict | None:
    """The call is faster than the device can move the bytes or do the operations that the problem needs.

    If the problem's file does not declare them, an output without a kernel may be a view of the input, which moves nothing.
    """
    timing, floor = evidence.timing, evidence.floor
    if timing is None or floor is None or floor.floor_ms < LEAST_FLOOR_MS or not timing.runtime_ms < floor.floor_ms:
        return None
    if not floor.declared and not any(launch.own and launch.code == 0 for launch in evidence.launches):
        return None
    work = f"{floor.moved_bytes / 1e9:.4g} GB at {floor.bytes_per_s / 1e12:.3g} TB/s"
    if floor.operations / floor.operations_per_s > floor.moved_bytes / floor.bytes_per_s:
        work = f"{floor.operations / 1e9:.4g} GFLOP at {floor.operations_per_s / 1e12:.3g} TFLOP/s"
    message = f"a call takes {timing.runtime_ms:.4g} ms, but this device needs at least {floor.floor_ms:.4g} ms"
    return Verdict(Category.IMPLAUSIBLE_SPEED, f"{message}: {work}, even at {floor.margin:.4g} times this measured rate")

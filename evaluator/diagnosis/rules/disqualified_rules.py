"""Rules that disqualify, each for an act that was seen: an escape, a forged result, another answer while it is timed, or a flush left out;
or for a time that the device can't reach. Time that the judge's clock adds is charged, and accuses nobody.

`reference_access` is given here for other workers only. An import of the judge's modules is an exception (`exception_rules.py`).
"""

from evaluator.diagnosis.rule import rule
from evaluator.diagnosis.rules.output_rules import WRONG_OUTPUTS
from evaluator.diagnosis.verdict import Verdict, doing
from evaluator.results.category import CATEGORIES, Category
from evaluator.results.evidence import Evidence

VIOLATION_SIGNAL = "SIGSYS"
"""Signal that ends a worker after a system call of `evaluator.sandbox.levels.seccomp.DEADLY`."""
ATTEMPTS = (Category.SANDBOX_VIOLATION, Category.REFERENCE_ACCESS, Category.FORGED_RESULT)
"""Categories that no honest submission gets, in any worker."""
UNFLUSHED_SHARE = 0.1
"""Share of all calls that may lack a flush: a kernel that writes past its output may spoil one by accident."""
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


@rule(order=100, gives=(*WRONG_OUTPUTS, Category.CACHED_OUTPUT, Category.TIMING_TAMPERING))
def wrong_timed_answer(evidence: Evidence) -> Verdict | None:
    """What the same inputs gave again decides, if they were asked for again."""
    wrong = evidence.wrong_timed_answer
    if wrong is None:
        return None
    where = f"timed call {wrong.call}" if wrong.call else "a call before the timed ones"
    message = f"right in every round, wrong in {where}: {wrong.message}"
    if not wrong.alone:
        return Verdict(wrong.category, message)
    again = f"{sum(wrong.in_blocks)} of {len(wrong.in_blocks)} timed calls and {sum(wrong.alone)} of {len(wrong.alone)} alone"
    message += f"; the same inputs again: wrong in {again}"
    if wrong.repeats:
        message += "; it returns what the call before returned for other inputs"
    if all(wrong.alone):
        return Verdict(wrong.category, message, CATEGORIES[Category.CACHED_OUTPUT].hint if wrong.repeats else "")
    if any(launch.side_stream for launch in evidence.launches):
        return Verdict(Category.NONDETERMINISTIC, f"{message}; kernels ran on side streams: join them before forward() returns")
    if wrong.repeats:
        return Verdict(Category.CACHED_OUTPUT, message)
    if len(wrong.alone) > 1 and all(wrong.in_blocks) and not any(wrong.alone):
        return Verdict(Category.TIMING_TAMPERING, f"{message}: it answers otherwise when it is timed")
    return Verdict(Category.NONDETERMINISTIC, message)


@rule(order=110, gives=[Category.TIMING_TAMPERING])
def skipped_flush(evidence: Evidence) -> Verdict | None:
    timing = evidence.timing
    if timing is None:
        return None
    witnesses = len(timing.candidate.single_ms) + len(timing.candidate.burst_ms) + timing.unflushed_bursts
    if timing.unflushed <= UNFLUSHED_SHARE * timing.calls and timing.unflushed_bursts <= UNFLUSHED_SHARE * witnesses:
        return None
    calls = timing.unflushed + timing.unflushed_bursts
    return Verdict(Category.TIMING_TAMPERING, f"the worker skipped the required flush of the L2 cache before {calls} calls")


@rule(order=120, gives=[Category.IMPLAUSIBLE_SPEED])
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

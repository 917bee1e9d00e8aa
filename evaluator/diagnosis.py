"""From evidence to verdict: status, category and message.

Pure functions of the evidence, so that every verdict can be derived again from what is stored. Of what the worker claims, only claims
against itself count here: an exception, a failed build, a wrong shape. Nothing that it says makes a verdict better.
"""

import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from evaluator.build.diagnostics import summary
from evaluator.category import CATEGORIES, Category
from evaluator.result import BuildEvidence, Evidence, ExceptionEvidence, LaunchRecord, TimingEvidence, TimingSide

MAX_THREADS = 1024
"""Threads a block, on every CUDA device."""
MAX_BLOCK = (1024, 1024, 64)
"""Block dimensions x, y, z (CUDA C++ Programming Guide, technical specifications by compute capability)."""

DEVICE_ERRORS = {
    700: Category.ILLEGAL_MEMORY_ACCESS,
    710: Category.DEVICE_ASSERT,
    716: Category.MISALIGNED_ADDRESS,
    717: Category.ILLEGAL_MEMORY_ACCESS,
    718: Category.ILLEGAL_MEMORY_ACCESS,
    719: Category.ILLEGAL_MEMORY_ACCESS,
}
"""cudaError_t of a context that a kernel has broken: illegal address, assert, misaligned address, invalid address space, invalid program
counter, and launch failure (an unspecified fault, in practice a wild access)."""

NOT_TO_BLAME = {Category.NO_TOOLCHAIN, Category.INFRASTRUCTURE_ERROR}

UNEXPLAINED_MS = 0.3
UNEXPLAINED_SHARE = 0.25
"""What the judge's clock may say beyond the events before that is tampering, and not only charged: well beyond its own spread."""
DEFERRED_FACTOR = 2.0
DEFERRED_MS = 1.0
"""An answer that takes this much longer to arrive than it took to compute was not computed."""
UNFLUSHED_SHARE = 0.1
"""Of all calls: a kernel that writes past its output may spoil a flush, and does not do so by design."""
BACKGROUND_MS = 0.3
BACKGROUND_SHARE = 0.25
"""Processor time after the answer that is work put off, rather than bookkeeping."""


VIOLATION_SIGNAL = "SIGSYS"
"""What ends a worker that makes a system call of `evaluator.sandbox.seccomp.DEADLY`."""
JUDGES_OWN = ("reference", "db", "pipeline")
"""Top-level modules of the judge's that no worker has; a fourth, `evaluator`, is there in part."""
LEAST_FLOOR_MS = 2e-3
"""A floor below this says nothing: launching takes as long."""


@dataclass(frozen=True)
class Verdict:
    """What an evaluation comes to."""

    category: Category
    message: str

    @property
    def hint(self) -> str:
        return CATEGORIES[self.category].hint


def diagnose(evidence: Evidence) -> Verdict:
    """The verdict on an evaluation that ran as far as it could. The first rule that applies wins."""
    for rule in RULES:
        verdict = rule(evidence)
        if verdict is not None:
            return verdict
    return Verdict(Category.OK, "")


def _protocol(evidence: Evidence) -> Verdict | None:
    if evidence.protocol_error:
        return Verdict(Category.FORGED_RESULT, f"an invalid frame on the result channel: {evidence.protocol_error}")
    return None


def _violation(evidence: Evidence) -> Verdict | None:
    """The kernel ends a process by SIGSYS for a system call that only serves to break out; which one, it does not say."""
    if evidence.exit is None or evidence.exit.signal != VIOLATION_SIGNAL:
        return None
    return Verdict(
        Category.SANDBOX_VIOLATION, f"{_doing(evidence.exit.stage)} made a system call that serves to leave the sandbox (SIGSYS)"
    )


def _starved_judge(evidence: Evidence) -> Verdict | None:
    starving = evidence.starving
    if starving is None:
        return None
    held, total = (f"{count / 2**30:.3g} GiB" for count in (starving.held_bytes, starving.total_bytes))
    return Verdict(Category.OUT_OF_MEMORY, f"it held {held} of the device's {total}, which left the judge too little")


def _failed_build(evidence: Evidence) -> Verdict | None:
    """A failed build decides where the submission did not survive it; one that was caught and worked around does not."""
    if evidence.exception is None and evidence.exit is None:
        return None
    build = next((build for build in reversed(evidence.builds) if not build.ok), None)
    if build is None or build.category is None:
        return None
    blames_build = evidence.exception is None or not _is_unrelated(evidence.exception, build)
    return Verdict(build.category, _build_message(build)) if blames_build else None


def _is_unrelated(exception: ExceptionEvidence, build: BuildEvidence) -> bool:
    """Whether it is of another kind than what a failed build raises, such as a name that is missing after the failure was caught."""
    return exception.type != "RuntimeError" and build.category not in NOT_TO_BLAME and "extension" not in exception.message


def _build_message(build: BuildEvidence) -> str:
    if build.diagnostics:
        return summary(build.diagnostics)
    return build.output.strip().splitlines()[-1][:500] if build.output.strip() else f"extension '{build.name}' was not built"


def _exit(evidence: Evidence) -> Verdict | None:
    exit_ = evidence.exit
    if exit_ is None:
        return None
    if exit_.deadline_s is not None:
        return Verdict(Category.TIMEOUT, f"{_doing(exit_.stage)} did not end within {exit_.deadline_s:g} s")
    if exit_.memory_limit_bytes is not None:
        return Verdict(
            Category.OUT_OF_MEMORY, f"{_doing(exit_.stage)} passed the memory limit of {exit_.memory_limit_bytes / 2**30:.3g} GiB"
        )
    if exit_.disk_limit_bytes is not None:
        limit = f"{exit_.disk_limit_bytes / 2**30:.3g} GiB"
        return Verdict(Category.PROCESS_CRASH, f"{_doing(exit_.stage)} filled its private directory beyond the limit of {limit}")
    if exit_.signal is not None:
        return Verdict(Category.PROCESS_CRASH, f"{_doing(exit_.stage)} ended by {exit_.signal}")
    return Verdict(Category.EARLY_EXIT, f"{_doing(exit_.stage)} ended the process with exit code {exit_.code}")


def _refused_launch(evidence: Evidence) -> Verdict | None:
    """A launch that the runtime refused, where the evaluation went wrong in any way after it."""
    if evidence.exception is None and all(round_.passed for round_ in evidence.rounds):
        return None
    refused = next((launch for launch in evidence.launches if launch.own and launch.code != 0), None)
    if refused is None or (evidence.exception is not None and evidence.exception.cuda_error in DEVICE_ERRORS):
        return None
    return Verdict(*_launch_fault(refused))


def _launch_fault(launch: LaunchRecord) -> tuple[Category, str]:
    kernel = plain_name(launch.kernel)
    block = "×".join(map(str, launch.block))
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    if threads > MAX_THREADS:
        return Category.OVERSIZED_BLOCK, f"`{kernel}`: block {block}, the device allows {MAX_THREADS} threads"
    too_long = [axis for axis, size, limit in zip("xyz", launch.block, MAX_BLOCK, strict=True) if size > limit]
    if too_long:
        return Category.OVERSIZED_BLOCK, f"`{kernel}`: block {block}, the device allows {'×'.join(map(str, MAX_BLOCK))}"
    grid = "×".join(map(str, launch.grid))
    shape = f"grid {grid}, block {block}, {launch.shared_bytes} bytes of dynamic shared memory"
    return Category.INVALID_LAUNCH, f"`{kernel}`: launch refused with CUDA error {launch.code} ({shape})"


def _exception(evidence: Evidence) -> Verdict | None:
    exception = evidence.exception
    if exception is None:
        return None
    category = next((category for category, applies in EXCEPTIONS if applies(exception, evidence)), Category.PYTHON_EXCEPTION)
    return Verdict(category, _exception_message(exception))


def _is_misuse(exception: ExceptionEvidence, _: Evidence) -> bool:
    return (
        exception.type in ("TypeError", "ValueError") and re.search(r"\b(load_inline|load)\(\)|'functions'", exception.message) is not None
    )


def _is_unloadable(exception: ExceptionEvidence, evidence: Evidence) -> bool:
    built = any(build.ok for build in evidence.builds)
    unloadable = re.search(r"undefined symbol|does not define module export function|cannot open shared object", exception.message)
    return exception.type in ("ImportError", "OSError") and built and unloadable is not None


def _reaches_judge(exception: ExceptionEvidence, evidence: Evidence) -> bool:
    """Whether it is the import of a module of the judge's. An extension of the submission's own may have the name of one."""
    if exception.type not in ("ImportError", "ModuleNotFoundError"):
        return False
    missing = re.match(r"No module named '([^']*)'", exception.message)
    if missing is None:
        return re.match(r"cannot import name '[^']*' from 'evaluator(\.[^']*)?'", exception.message) is not None
    name = missing[1]
    built = {build.name for build in evidence.builds}
    return name.partition(".")[0] == "evaluator" or (name in JUDGES_OWN and name not in built)


def plain_name(kernel: str) -> str:
    """`softmax` for `void detail::softmax<float, 4>(float const*, float*)`: without return type, template arguments and parameters."""
    without = kernel
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)", "", without)) != without:
        without = shorter
    words = without.split()
    return words[-1].rsplit("::", 1)[-1] if words else kernel


_SHORTAGE = re.compile(r"can't allocate memory|CUDACachingAllocator|CUDA error: out of memory")

EXCEPTIONS: tuple[tuple[Category, Callable[[ExceptionEvidence, Evidence], bool]], ...] = (
    (Category.EARLY_EXIT, lambda exception, _: exception.type == "SystemExit"),
    (Category.LOAD_INLINE_MISUSE, _is_misuse),
    (Category.LINK_ERROR, _is_unloadable),
    (Category.REFERENCE_ACCESS, _reaches_judge),
    (Category.IMPORT_ERROR, lambda exception, _: exception.type in ("ImportError", "ModuleNotFoundError") and exception.stage == "load"),
    (Category.ILLEGAL_MEMORY_ACCESS, lambda exception, _: DEVICE_ERRORS.get(exception.cuda_error or 0) is Category.ILLEGAL_MEMORY_ACCESS),
    (Category.MISALIGNED_ADDRESS, lambda exception, _: DEVICE_ERRORS.get(exception.cuda_error or 0) is Category.MISALIGNED_ADDRESS),
    (Category.DEVICE_ASSERT, lambda exception, _: DEVICE_ERRORS.get(exception.cuda_error or 0) is Category.DEVICE_ASSERT),
    (Category.OUT_OF_MEMORY, lambda exception, _: exception.type in ("OutOfMemoryError", "MemoryError")),
    # PyTorch asks NVML how much memory there was, and may fail at that in a sandbox: then this is all it says of its allocator's failure.
    (Category.OUT_OF_MEMORY, lambda exception, _: _SHORTAGE.search(exception.message) is not None),
    (Category.INIT_ERROR, lambda exception, _: exception.stage == "construct"),
)
"""The first that applies names the category of an exception."""


def _exception_message(exception: ExceptionEvidence) -> str:
    lines = [line.strip() for line in exception.message.splitlines() if line.strip()]
    where = f"line {exception.line}: " if exception.line else ""
    return f"{where}{exception.type}: {lines[0] if lines else ''}"[:600].rstrip(": ")


def _failed_round(evidence: Evidence) -> Verdict | None:
    failed = next((round_ for round_ in evidence.rounds if not round_.passed), None)
    if failed is None or failed.category is None:
        return None
    where = "" if failed.distribution == "own" else f", distribution '{failed.distribution}'"
    return Verdict(failed.category, f"round {failed.index + 1}{where}: {failed.message}")


def _wrong_when_timed(evidence: Evidence) -> Verdict | None:
    wrong = evidence.wrong_timed_answer
    if wrong is None:
        return None
    if wrong.category is Category.CACHED_OUTPUT and wrong.back_to_back and any(launch.side_stream for launch in evidence.launches):
        message = f"wrong where nothing waits for the device before the answer is copied, with kernels on other streams: {wrong.message}"
        return Verdict(Category.ESCAPED_STREAM, message)
    return Verdict(wrong.category, f"right in every round, wrong in timed call {wrong.call}: {wrong.message}")


def _deferred(evidence: Evidence) -> Verdict | None:
    """An answer that time and again takes far longer to arrive than it took to compute was put off.

    One that is only slow to copy, for the way it is laid out, pays for it in its time.
    """
    timing = evidence.timing
    if timing is None or timing.alone is None or not timing.deferred_ms:
        return None
    if min(len(side.reveal_ms) for side in (timing.candidate, timing.alone)) < 2:
        return None
    late_ms = _usual(timing.candidate) - _usual(timing.alone)
    took_ms = timing.candidate.work_ms
    if late_ms <= DEFERRED_FACTOR * took_ms + DEFERRED_MS:
        return None
    message = f"an answer takes {took_ms:.3g} ms, and then {late_ms:.3g} ms longer to arrive than the baseline's"
    return Verdict(Category.DEFERRED_WORK, message)


def _ahead(evidence: Evidence) -> Verdict | None:
    """Processors that compute, each time, while inputs arrive for a call that has not been asked for yet."""
    timing = evidence.timing
    if timing is None or not _much(timing.ahead_ms, timing):
        return None
    took_ms = timing.candidate.work_ms
    message = f"a call takes {took_ms:.3g} ms, and its processes compute for {timing.ahead_ms:.3g} ms before it is asked for"
    return Verdict(Category.TIMING_TAMPERING, message)


def _background(evidence: Evidence) -> Verdict | None:
    """Processors that go on computing after the call has returned, each time, do so for the call that returned."""
    timing = evidence.timing
    if timing is None or not _much(timing.background_ms, timing):
        return None
    took_ms = timing.candidate.work_ms
    message = f"an answer takes {took_ms:.3g} ms, and its processes then compute for {timing.background_ms:.3g} ms more"
    return Verdict(Category.DEFERRED_WORK, message)


def _much(processor_ms: float, timing: TimingEvidence) -> bool:
    """Whether so much processor time outside of a call can't be bookkeeping."""
    return processor_ms > max(BACKGROUND_MS, BACKGROUND_SHARE * timing.candidate.work_ms)


def _usual(side: TimingSide) -> float:
    """How long an answer of this side takes to arrive, in ms: processor time at the median, or by a clock, which others on the machine
    delay and never hasten, at the lower quartile."""
    return statistics.median(side.reveal_ms) if side.busy_ms else statistics.quantiles(side.reveal_ms, n=4)[0]


def _unexplained_time(evidence: Evidence) -> Verdict | None:
    timing = evidence.timing
    if timing is None or timing.unexplained_ms is None:
        return None
    witnesses = len(timing.candidate.single_ms) + len(timing.candidate.burst_ms) + timing.unflushed_bursts
    if timing.unflushed > UNFLUSHED_SHARE * timing.calls or timing.unflushed_bursts > UNFLUSHED_SHARE * witnesses:
        calls = timing.unflushed + timing.unflushed_bursts
        message = f"the L2 cache was not emptied before {calls} calls, as the worker had been told to"
        return Verdict(Category.TIMING_TAMPERING, message)
    claimed_ms = timing.candidate.median_ms
    if timing.unexplained_ms < max(UNEXPLAINED_MS, UNEXPLAINED_SHARE * claimed_ms):
        return None
    message = f"its events claim {claimed_ms:.4g} ms a call, the judge's clock {timing.unexplained_ms:.4g} ms more than that"
    sideways = any(launch.own and launch.side_stream for launch in evidence.launches)
    return Verdict(Category.ESCAPED_STREAM if sideways else Category.TIMING_TAMPERING, message)


def _implausible(evidence: Evidence) -> Verdict | None:
    """Faster than the device can move the bytes or do the operations that the problem can't do without.

    Where the problem's file does not say what these are, an answer without a kernel may be a view of the input, which moves nothing.
    """
    timing, floor = evidence.timing, evidence.floor
    if timing is None or floor is None or floor.floor_ms < LEAST_FLOOR_MS or not timing.runtime_ms < floor.floor_ms:
        return None
    if not floor.declared and not any(launch.own and launch.code == 0 for launch in evidence.launches):
        return None
    work = f"{floor.moved_bytes / 1e9:.4g} GB at {floor.bytes_per_s / 1e12:.3g} TB/s"
    if floor.operations / floor.operations_per_s > floor.moved_bytes / floor.bytes_per_s:
        work = f"{floor.operations / 1e9:.4g} GFLOP at {floor.operations_per_s / 1e12:.3g} TFLOP/s"
    message = f"a call takes {timing.runtime_ms:.4g} ms, where this device needs {floor.floor_ms:.4g} ms at the least"
    return Verdict(Category.IMPLAUSIBLE_SPEED, f"{message}: {work}, {floor.margin:g} times faster than measured")


def _no_own_kernel(evidence: Evidence) -> Verdict | None:
    on_device = evidence.timing is not None and evidence.timing.clock == "cuda_event"
    if on_device and not any(launch.own and launch.code == 0 for launch in evidence.launches):
        return Verdict(Category.NO_CUSTOM_KERNEL, "right, but no kernel of the submission's own ran on the device")
    if not on_device and not any(build.ok for build in evidence.builds):
        return Verdict(Category.NO_CUSTOM_KERNEL, "right, but the submission built no extension")
    if evidence.ablation is not None and evidence.ablation.still_right:
        return Verdict(Category.NO_CUSTOM_KERNEL, "right, and still right with its own kernels left out")
    return None


RULES: tuple[Callable[[Evidence], Verdict | None], ...] = (
    _protocol,
    _violation,
    _starved_judge,
    _failed_build,
    _exit,
    _refused_launch,
    _exception,
    _failed_round,
    _wrong_when_timed,
    _deferred,
    _ahead,
    _background,
    _unexplained_time,
    _implausible,
    _no_own_kernel,
)
"""In order of precedence."""

STAGES = {"load": "loading the file", "construct": "constructing ModelNew", "rounds": "forward()", "timing": "forward() while timed"}


def _doing(stage: str) -> str:
    return STAGES.get(stage, stage)

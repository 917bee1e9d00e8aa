"""Notes on the time of a right answer: compared with the baseline and the speed of light, its workloads, and the limits of its launches."""

from collections.abc import Iterator, Sequence

from evaluator.diagnosis.notes.kernel_notes import breakdown, launches_a_call, own_share
from evaluator.diagnosis.words import extent, plain_name
from evaluator.results.display.figures import percent, rate_text
from evaluator.results.evidence import Evidence, KernelLimits, LaunchRecord, WorkloadEvidence
from evaluator.results.result import Result
from evaluator.results.score import UNSOLVED_SPEEDUP, speedup_in

WARP = 32
SMALL_GRID_BLOCKS = 64
"""A grid of fewer blocks leaves most multiprocessors of today's GPUs idle."""
RESIDENT_THREADS = 2048
REGISTERS = 64 << 10
SHARED_BYTES = 228 << 10
SHARED_RESERVED_BYTES = 1024
"""Limits per multiprocessor of compute capability 9.0, and the system's share of a block's shared memory (CUDA C++ Programming Guide,
technical specifications by compute capability). 8.0 has the same, except 164 KiB of shared memory."""
MINOR_SHARE = 0.5
"""If own kernels take less than this share of a call's time, they are not the reason why it is slow."""
MANY_LAUNCHES = 20
"""Launches per call above which their overhead, some microseconds each, is worth a remark."""
MAX_WORKLOADS = 3
"""Maximum number of solved workloads shown, and of unsolved ones. The evidence has all."""


def speed_notes(result: Result) -> tuple[str, ...]:
    """Notes, the most important first; none for a result without times."""
    if result.runtime_ms is None or result.baseline_ms is None or result.speedup is None:
        return ()
    timing = result.evidence.timing
    workloads = timing.workloads if timing is not None else ()
    where = f"in workload `{workloads[0].case}`, " if workloads else ""
    found = [_compared(result.runtime_ms, result.baseline_ms, result.speedup), *_workloads(workloads)]
    found += [f"{where}{note}" for note in _light(result)]
    conditions = result.evidence.conditions
    if conditions is not None and conditions.remark:
        found.append(f"the times may be off: {conditions.remark}")
    if result.speedup < 1:
        found += _launches(result)
    if timing is not None:
        host_ms = timing.candidate.host_ms
        if timing.candidate.launch_lead_ms and host_ms is not None and host_ms > timing.candidate.median_ms:
            found.append(f"{where}launching takes {host_ms:.3g} ms on the host; outside a benchmark a call takes that long")
        late = ("until the output arrives", max(timing.deferred_ms, timing.arrives_late_ms))
        if timing.unclaimed_ms > timing.deferred_ms:  # an output that is slow to copy shows in both, and is charged once
            late = ("outside of its claimed times", timing.unclaimed_ms)
        added = (("before the call", timing.ahead_ms), ("after it", timing.background_ms), late)
        found += [f"{where}{ms:.3g} ms of it are spent {when}" for when, ms in added if ms]
    return tuple(found)


def _compared(runtime_ms: float, baseline_ms: float, speedup: float) -> str:
    relation = "faster than" if speedup >= 1 else "slower than"
    return f"{runtime_ms:.4g} ms per call, {max(speedup, 1 / speedup):.3g} times {relation} the baseline's {baseline_ms:.4g} ms"


def _workloads(workloads: Sequence[WorkloadEvidence]) -> Iterator[str]:
    """What the figures are means of, if there are workloads; the solved ones with the lowest speedups; and the unsolved ones."""
    if not workloads:
        return
    solved = [(speedup_in(each), each.case, each.timing) for each in workloads if each.timing is not None]
    unsolved = [each for each in workloads if each.timing is None]
    apart = ", the baseline's time over the solved ones" if unsolved else ""
    yield f"these figures are geometric means over {len(workloads)} workloads{apart}"
    solved.sort(key=lambda each: each[0])
    for speedup, case, timing in solved[:MAX_WORKLOADS]:
        yield f"workload `{case}`: {_compared(timing.runtime_ms, timing.baseline_ms, speedup)}"
    if len(solved) > MAX_WORKLOADS:
        yield f"and {len(solved) - MAX_WORKLOADS} more with higher speedups"
    for each in unsolved[:MAX_WORKLOADS]:
        yield f"workload `{each.case}` is unsolved, and counts as {UNSOLVED_SPEEDUP:g} times the baseline's speed: {each.message}"
    if len(unsolved) > MAX_WORKLOADS:
        yield f"and {len(unsolved) - MAX_WORKLOADS} more unsolved, which count alike"


def _light(result: Result) -> list[str]:
    """The shares of the speed of light, and its limit: bytes or operations."""
    light, share, baseline_share = result.evidence.light, result.speed_of_light, result.baseline_speed_of_light
    if light is None or share is None or baseline_share is None:
        return []
    what = f"{light.moved_bytes / 1e6:.4g} MB must be moved, at {rate_text(light.bytes_per_s or 0.0, 'B')}"
    if light.bound == "arithmetic":
        what = f"{light.operations / 1e9:.4g} G operations must be done, at {rate_text(light.operations_per_s or 0.0, 'FLOP')}"
        what += f" of {light.arithmetic}"
    return [f"{percent(share)} of the speed of light, the baseline {percent(baseline_share)}: {what}"]


def _launches(result: Result) -> list[str]:
    own = [launch for launch in result.evidence.launches if launch.own]
    others = [launch for launch in result.evidence.launches if not launch.own]
    found = breakdown(result.evidence)
    if own and (count := _many_launches(result.evidence)):
        found.append(f"{count}: each costs some microseconds, so fuse kernels")
    share = own_share(result.evidence)
    if own and share is not None and share < MINOR_SHARE:
        found.append(f"its own kernels take {percent(share)} of a call's time: replace the other work before making them faster")
    for launch in own:
        found += [f"`{plain_name(launch.kernel)}` {remark}" for remark in _shape(launch)]
    if others and own and result.evidence.kernel_times is None:
        names = ", ".join(dict.fromkeys(f"`{plain_name(launch.kernel)}`" for launch in others[:4]))
        found.append(f"library kernels also run: {names}")
    return found


def _many_launches(evidence: Evidence) -> str:
    """The number of launches in words if there are many, otherwise empty."""
    each = launches_a_call(evidence)
    if each is not None:
        return f"{each:.4g} launches per call" if each > MANY_LAUNCHES else ""
    total, timing = sum(launch.count for launch in evidence.launches), evidence.timing
    return f"{total} launches in all" if timing is not None and total > MANY_LAUNCHES * max(timing.calls, 1) * 2 else ""


def _shape(launch: LaunchRecord) -> list[str]:
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    found = []
    if threads % WARP:
        found.append(f"has blocks of {extent(launch.block)}: {threads} threads are not a multiple of 32")
    elif threads < 2 * WARP:
        found.append(f"has {threads} threads per block: a multiprocessor runs few blocks at once, and stays half empty")
    if blocks < SMALL_GRID_BLOCKS:
        found.append(f"has a grid of {blocks} blocks: most of the GPU is idle")
    if launch.limits is not None:
        found += _occupancy(launch, launch.limits, threads)
    return found


def _occupancy(launch: LaunchRecord, limits: KernelLimits, threads: int) -> list[str]:
    """The resource that limits a multiprocessor to less than half of its threads; and local memory, if any."""
    shared_bytes = limits.static_shared_bytes + launch.shared_bytes
    by = {
        "registers": REGISTERS // max(limits.registers * threads, 1) * threads,
        "shared memory": SHARED_BYTES // (shared_bytes + SHARED_RESERVED_BYTES) * threads,
    }
    limited, resident = min(by.items(), key=lambda item: item[1])
    found = []
    if resident * 2 < RESIDENT_THREADS:
        uses = f"{limits.registers} registers per thread" if limited == "registers" else f"{shared_bytes} bytes of shared memory per block"
        found.append(f"is limited to {resident} of {RESIDENT_THREADS} threads per multiprocessor by {uses}")
    if limits.local_bytes:
        found.append(f"keeps {limits.local_bytes} bytes per thread in local memory: spilled registers, or arrays with run-time indices")
    return found

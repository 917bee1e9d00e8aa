"""Notes on the time of a right answer: against the baseline, against the speed of light, and what limits its launches."""

from evaluator.diagnosis.notes.kernel_notes import breakdown, launches_a_call, own_share
from evaluator.diagnosis.words import extent, plain_name
from evaluator.results.evidence import Evidence, KernelLimits, LaunchRecord
from evaluator.results.figures import percent, rate_text
from evaluator.results.result import Result

WARP = 32
SMALL_GRID_BLOCKS = 64
"""Fewer blocks than this leave most multiprocessors of today's GPUs idle."""
RESIDENT_THREADS = 2048
REGISTERS = 64 << 10
SHARED_BYTES = 228 << 10
SHARED_RESERVED_BYTES = 1024
"""What a multiprocessor of compute capability 9.0 holds, and what the system takes of a block's shared memory (CUDA C++ Programming Guide,
technical specifications by compute capability); those of 8.0 are alike but for 164 KiB."""
MINOR_SHARE = 0.5
"""Share of a call's time below which its own kernels are not what makes it slow."""
MANY_LAUNCHES = 20
"""Launches a call above which their overhead, some microseconds each, is worth a remark."""


def speed_notes(result: Result) -> tuple[str, ...]:
    """The most important first; none for a result without times."""
    if result.runtime_ms is None or result.baseline_ms is None or result.speedup is None:
        return ()
    relation = "faster than" if result.speedup >= 1 else "slower than"
    factor = max(result.speedup, 1 / result.speedup)
    found = [f"{result.runtime_ms:.4g} ms a call, {factor:.3g} times {relation} the baseline's {result.baseline_ms:.4g} ms"]
    found += _light(result)
    conditions = result.evidence.conditions
    if conditions is not None and conditions.remark:
        found.append(f"the times may be off: {conditions.remark}")
    if result.speedup < 1:
        found += _launches(result)
    timing = result.evidence.timing
    if timing is not None:
        host_ms = timing.candidate.host_ms
        if timing.candidate.head_start_ms and host_ms is not None and host_ms > timing.candidate.median_ms:
            found.append(f"beside that launching a call takes the host {host_ms:.3g} ms: alone in a program, a call takes as long")
        late = ("until the answer arrives", max(timing.deferred_ms, timing.arrives_late_ms))
        if timing.unclaimed_ms > timing.deferred_ms:  # an answer that is slow to copy shows in both, and is charged once
            late = ("outside of what its events claim", timing.unclaimed_ms)
        added = (("before the call", timing.ahead_ms), ("after it", timing.background_ms), late)
        found += [f"{ms:.3g} ms of it are spent {when}" for when, ms in added if ms]
    return tuple(found)


def _light(result: Result) -> list[str]:
    """The shares of the speed of light, and what bounds it."""
    light, share, baseline_share = result.evidence.light, result.speed_of_light, result.baseline_speed_of_light
    if light is None or share is None or baseline_share is None:
        return []
    what = f"{light.moved_bytes / 1e6:.4g} MB have to move, at {rate_text(light.bytes_per_s or 0.0, 'B')}"
    if light.bound == "arithmetic":
        what = f"{light.operations / 1e9:.4g} G operations have to be done, at {rate_text(light.operations_per_s or 0.0, 'FLOP')}"
        what += f" of {light.arithmetic}"
    return [f"{percent(share)} of the speed of light, the baseline {percent(baseline_share)}: {what}"]


def _launches(result: Result) -> list[str]:
    own = [launch for launch in result.evidence.launches if launch.own]
    others = [launch for launch in result.evidence.launches if not launch.own]
    found = breakdown(result.evidence)
    if own and (count := _many_launches(result.evidence)):
        found.append(f"{count}: each costs some microseconds; fuse kernels")
    share = own_share(result.evidence)
    if own and share is not None and share < MINOR_SHARE:
        found.append(f"its own kernels have {percent(share)} of a call's time: making them faster changes little, replacing the rest does")
    for launch in own:
        found += [f"`{plain_name(launch.kernel)}` {remark}" for remark in _shape(launch)]
    if others and own and result.evidence.kernel_times is None:
        names = ", ".join(dict.fromkeys(f"`{plain_name(launch.kernel)}`" for launch in others[:4]))
        found.append(f"kernels of libraries run beside its own: {names}")
    return found


def _many_launches(evidence: Evidence) -> str:
    """The number of launches, in words, where they are many; otherwise empty."""
    each = launches_a_call(evidence)
    if each is not None:
        return f"{each:.4g} launches a call" if each > MANY_LAUNCHES else ""
    total, timing = sum(launch.count for launch in evidence.launches), evidence.timing
    return f"{total} launches in all" if timing is not None and total > MANY_LAUNCHES * max(timing.calls, 1) * 2 else ""


def _shape(launch: LaunchRecord) -> list[str]:
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    found = []
    if threads % WARP:
        found.append(f"has blocks of {extent(launch.block)}: {threads} threads are no whole warps")
    elif threads < 2 * WARP:
        found.append(f"has {threads} threads a block: a multiprocessor runs few blocks at once, and stays half empty")
    if blocks < SMALL_GRID_BLOCKS:
        found.append(f"has a grid of {blocks} blocks: most of the GPU is idle")
    if launch.limits is not None:
        found += _occupancy(launch, launch.limits, threads)
    return found


def _occupancy(launch: LaunchRecord, limits: KernelLimits, threads: int) -> list[str]:
    """What keeps a multiprocessor from holding more than half of its threads."""
    shared_bytes = limits.static_shared_bytes + launch.shared_bytes
    by = {
        "registers": REGISTERS // max(limits.registers * threads, 1) * threads,
        "shared memory": SHARED_BYTES // (shared_bytes + SHARED_RESERVED_BYTES) * threads,
    }
    limited, resident = min(by.items(), key=lambda item: item[1])
    found = []
    if resident * 2 < RESIDENT_THREADS:
        uses = f"{limits.registers} registers a thread" if limited == "registers" else f"{shared_bytes} bytes of shared memory a block"
        found.append(f"is held to {resident} of {RESIDENT_THREADS} threads on a multiprocessor by {uses}")
    if limits.local_bytes:
        found.append(
            f"keeps {limits.local_bytes} bytes a thread in local memory: registers spilled, or arrays that are indexed at run time"
        )
    return found

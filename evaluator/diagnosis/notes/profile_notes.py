"""Advice from a profile: excess memory traffic and instructions of a call, its kernels' limits, and what their warps wait for.

Instructions are compared with the speed-of-light time T of the problem. Nsight Compute measures which share of its issue slots a kernel
used. So issuing all instructions takes at least

    issue time = sum over kernels of (duration × share of the issue slots)

If this exceeds T, the call can't reach T with so many instructions, however well it hides latency. It would have time for
`instructions × T / issue time`. Each warp instruction counts as one of each of its 32 threads. Both numbers are given for each byte that
the problem needs, so that they can be compared with other sizes and kernels. Kernels that were not profiled only add to the issue time.
"""

from collections.abc import Iterator

from evaluator.diagnosis.words import plain_name
from evaluator.results.display.figures import percent
from evaluator.results.evidence import KernelProfile, LightEvidence, ProfiledSide, ProfileEvidence

MAX_KERNELS = 4
"""Maximum number of kernels shown, the longest first. The evidence has all."""
EXCESS = 1.25
"""Minimum ratio of moved to needed bytes that is worth a remark."""
EXCESS_BYTES = 4 << 20
"""Minimum excess in bytes that is worth a remark: less comes from the profiler and from the kernels' code."""
BUSY = 0.5
"""Minimum share of the issue slots, over the whole call, for a remark on instructions: below it, other limits come first."""
WARP = 32
FEWER_INSTRUCTIONS = {
    "memory": "load and store 16 bytes at once, use packed types, and move index arithmetic out of loops",
    "arithmetic": "use tensor cores, which do more operations in one instruction",
}
"""Advice by the limit of the speed of light."""
NEAR_PEAK = 0.8
"""Share of a peak above which there is little to gain."""
IDLE = 0.6
"""If both shares are below this, warps wait more than the device works."""
LOW_OCCUPANCY = 0.5
LOST_OCCUPANCY = 0.6
"""As a share of the occupancy that the launch permits."""
FEW_HITS = 0.5
WAITS = {
    "long_scoreboard": "global or local memory",
    "short_scoreboard": "shared memory or special functions",
    "mio_throttle": "shared memory and special functions, whose queue is full",
    "lg_throttle": "global memory, whose queue is full",
    "tex_throttle": "texture memory, whose queue is full",
    "barrier": "other warps at a barrier",
    "membar": "a memory fence",
    "wait": "the fixed latency of the instruction before",
    "math_pipe_throttle": "arithmetic units that are busy",
    "not_selected": "their turn, while another warp issues",
    "no_instructions": "instructions to be fetched",
    "branch_resolving": "a branch to be resolved",
    "dispatch_stall": "the dispatcher",
    "drain": "their last writes",
    "imc_miss": "a constant cache miss",
    "sleeping": "the end of their sleep",
    "gmma": "matrix products of their warp group",
}
"""What warps wait for, by Nsight Compute's name of the stall reason."""


def told(profile: ProfileEvidence) -> tuple[str, ...]:
    """A line for the whole call, one for each of the longest kernels, and lines on incomplete measurements."""
    if profile.submission is None:
        return (profile.remark,) if profile.remark else ()
    lines = [f"not the evaluation's case: {profile.remark}"] if profile.remark else []
    beside = ", without the call's other kernels" if profile.submission.partial else ""
    lines += _call(profile.submission, profile.light, f"its own kernels{beside}")
    lines += _instructions(profile.submission, profile.light)
    longest = sorted(profile.submission.kernels, key=lambda kernel: -(kernel.duration_ms or 0.0))
    lines += [line for kernel in longest[:MAX_KERNELS] if (line := _kernel(kernel))]
    if len(longest) > MAX_KERNELS:
        lines.append(f"and {len(longest) - MAX_KERNELS} shorter launches")
    lines += _unfinished(profile.submission, "the profile")
    if profile.reference is not None:
        lines += _call(profile.reference, profile.light, "the reference's kernels")
        lines += _unfinished(profile.reference, "the reference's profile")
    return tuple(lines)


def waits_for(reason: str) -> str:
    """What a warp waits for, in words; for an unknown reason, Nsight Compute's name."""
    return WAITS.get(reason, reason)


def excess(moved_bytes: float | None, needed_bytes: int) -> float | None:
    """The ratio of moved to needed bytes; None if it is not worth a remark."""
    if moved_bytes is None or not needed_bytes or moved_bytes - needed_bytes < EXCESS_BYTES:
        return None
    times = moved_bytes / needed_bytes
    return times if times >= EXCESS else None


def _call(side: ProfiledSide, light: LightEvidence | None, whose: str) -> list[str]:
    """Time and bytes of one call, compared with the problem's needs."""
    if side.duration_ms is None:
        return []
    count = f"{len(side.kernels)} launches, " if len(side.kernels) > 1 else ""
    parts = [f"{whose}: {count}{side.duration_ms:.4g} ms"]
    if side.moved_bytes is not None:
        needed = f" (needed: {(light.read_bytes + light.written_bytes) / 1e6:.4g} MB)" if light else ""
        parts.append(f"{side.moved_bytes / 1e6:.4g} MB to and from device memory{needed}")
    if light is not None:
        written_bytes = None if side.moved_bytes is None or side.read_bytes is None else side.moved_bytes - side.read_bytes
        if times := excess(side.read_bytes, light.read_bytes):
            parts.append(f"reads each input {times:.2g} times: keep it in registers or shared memory, or fuse kernels")
        if times := excess(written_bytes, light.written_bytes):
            parts.append(f"writes {times:.2g} times the output's bytes: intermediate results go through device memory")
    return ["; ".join(parts)]


def _instructions(side: ProfiledSide, light: LightEvidence | None) -> Iterator[str]:
    """The call's instructions, if issuing them alone takes longer than the speed of light."""
    issue_ms = side.issue_ms
    if light is None or issue_ms is None or not side.instructions or not side.duration_ms:
        return
    needed_bytes = light.read_bytes + light.written_bytes
    if not needed_bytes or issue_ms <= light.light_ms or issue_ms < BUSY * side.duration_ms:
        return
    executed = side.instructions * WARP / needed_bytes
    allowed = executed * light.light_ms / issue_ms
    yield (
        f"its own kernels execute {executed:.3g} instructions for each byte that the problem needs: "
        f"issuing them alone takes {issue_ms:.3g} ms. The speed of light by {light.bound}, {light.light_ms:.3g} ms, "
        f"leaves time for {allowed:.3g}: {FEWER_INSTRUCTIONS[light.bound]}"
    )


def _kernel(kernel: KernelProfile) -> str:
    found = [*_shares(kernel), *_occupancy(kernel), *_waiting(kernel)]
    time = [f"{kernel.duration_ms:.4g} ms"] if kernel.duration_ms is not None else []
    return f"`{plain_name(kernel.kernel)}` {', '.join([*time, *found])}" if found else ""


def _shares(kernel: KernelProfile) -> Iterator[str]:
    memory, arithmetic = kernel.memory_share, kernel.arithmetic_share
    if memory is not None:
        yield f"{percent(memory)} of the memory's peak" + (": only fewer bytes make it faster" if memory >= NEAR_PEAK else "")
    if arithmetic is not None:
        near = ": only fewer or cheaper instructions make it faster" if arithmetic >= NEAR_PEAK else ""
        yield f"{percent(arithmetic)} of the arithmetic's peak{near}"
    if memory is not None and memory < NEAR_PEAK and kernel.l2_hit_share is not None and kernel.l2_hit_share < FEW_HITS <= memory:
        yield f"L2 hits {percent(kernel.l2_hit_share)}"


def _occupancy(kernel: KernelProfile) -> Iterator[str]:
    """The occupancy where it is low, and why."""
    occupancy, limit = kernel.occupancy, kernel.occupancy_limit
    if occupancy is None or occupancy >= LOW_OCCUPANCY:
        return
    if limit is not None and occupancy < LOST_OCCUPANCY * limit:
        yield f"occupancy {percent(occupancy)}, but the launch permits {percent(limit)}: too few blocks, or uneven work"
    elif kernel.limited_by:
        yield f"occupancy {percent(occupancy)}, limited by {' and '.join(_limit(kernel, limited) for limited in kernel.limited_by)}"


def _limit(kernel: KernelProfile, limited: str) -> str:
    if limited == "registers" and kernel.registers is not None:
        return f"{kernel.registers} registers per thread"
    if limited == "shared memory" and kernel.shared_bytes is not None:
        return f"{kernel.shared_bytes} bytes of shared memory per block"
    if limited == "block size" and kernel.block is not None:
        return f"blocks of {kernel.block[0] * kernel.block[1] * kernel.block[2]} threads"
    if limited == "blocks" and kernel.block is not None:
        return f"the maximum of blocks per multiprocessor, at {kernel.block[0] * kernel.block[1] * kernel.block[2]} threads each"
    return limited


def _waiting(kernel: KernelProfile) -> Iterator[str]:
    """What its warps wait for, if the device is often idle."""
    shares = [share for share in (kernel.memory_share, kernel.arithmetic_share) if share is not None]
    if kernel.stalls and shares and max(shares) < IDLE:
        waits = "; ".join(f"{waits_for(stall.reason)} ({percent(stall.share)})" for stall in kernel.stalls)
        yield f"its warps wait for {waits}"


def _unfinished(side: ProfiledSide, what: str) -> list[str]:
    return [] if side.outcome == "ended" else [f"{what} is not complete: {side.remark or side.outcome}"]

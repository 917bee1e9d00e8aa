"""Rules over launches that the runtime refused."""

from evaluator.category import Category
from evaluator.diagnosis.exceptions import DEVICE_ERRORS
from evaluator.diagnosis.verdict import Verdict
from evaluator.diagnosis.words import plain_name
from evaluator.result import Evidence, LaunchRecord

MAX_THREADS = 1024
"""Threads a block, on every CUDA device."""
MAX_BLOCK = (1024, 1024, 64)
"""Block dimensions x, y, z (CUDA C++ Programming Guide, technical specifications by compute capability)."""


def refused_launch(evidence: Evidence) -> Verdict | None:
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

"""Rules for launches that the CUDA runtime refused."""

from collections.abc import Callable

from evaluator.diagnosis.rule import rule
from evaluator.diagnosis.rules.exception_rules import DEVICE_ERRORS
from evaluator.diagnosis.verdict import Verdict
from evaluator.diagnosis.words import extent, plain_name
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, LaunchRecord

MAX_THREADS = 1024
"""Maximum threads per block, on every CUDA device."""
MAX_BLOCK = (1024, 1024, 64)
"""Largest block dimensions x, y, z (CUDA C++ Programming Guide, technical specifications by compute capability)."""
MAX_GRID = (2**31 - 1, 65535, 65535)
"""Largest grid dimensions x, y, z (the same table)."""
DEFAULT_SHARED_BYTES = 48 << 10
"""Maximum shared memory per block, static and dynamic, without cudaFuncSetAttribute (the same guide)."""
PORTABLE_CLUSTER_BLOCKS = 8
"""Maximum blocks per cluster on every device with clusters (the same guide, Thread Block Clusters)."""

CODES = {
    1: "invalid argument",
    8: "invalid device function",
    9: "invalid configuration",
    98: "invalid device function",
    209: "no kernel image for this device: it was compiled for another architecture",
    218: "invalid PTX",
    222: "PTX of an unsupported version",
    400: "invalid handle, such as a destroyed stream or module",
    701: "too many resources requested for launch",
    720: "a cooperative launch of more blocks than fit on the device at once",
    912: "no clusters of that size can be placed on the device",
}
"""cudaError_t of refused launches (CUDA runtime API, Data types)."""


@rule(order=70, gives=[Category.OVERSIZED_BLOCK, Category.INVALID_LAUNCH])
def refused_launch(evidence: Evidence) -> Verdict | None:
    """The runtime refused a launch, and an exception or a wrong answer followed."""
    if evidence.exception is None and all(round_.passed for round_ in evidence.rounds):
        return None
    refused = sorted((launch for launch in evidence.launches if launch.own and launch.code != 0), key=lambda launch: launch.first)
    if not refused or (evidence.exception is not None and evidence.exception.cuda_error in DEVICE_ERRORS):
        return None
    category, message = launch_fault(refused[0])
    if len(evidence.launches) > 1:
        message += f"; launch {refused[0].first + 1} of the process"
    if len(refused) > 1:
        message += f", and the first of {len(refused)} kernels that were refused"
    return Verdict(category, message)


def launch_fault(launch: LaunchRecord) -> tuple[Category, str]:
    """The category of a refused launch, and in words what it asked for and what is allowed."""
    kernel = f"`{plain_name(launch.kernel)}`"
    for limit in LIMITS:
        if (found := limit(launch)) is not None:
            category, words = found
            return category, f"{kernel}: {words}"
    shape = f"grid {extent(launch.grid)}, block {extent(launch.block)}, {launch.shared_bytes} bytes of dynamic shared memory"
    meaning = f", {CODES[launch.code]}" if launch.code in CODES else ""
    return Category.INVALID_LAUNCH, f"{kernel}: launch refused with CUDA error {launch.code}{meaning} ({shape})"


Limit = Callable[[LaunchRecord], tuple[Category, str] | None]


def _threads(launch: LaunchRecord) -> int:
    return launch.block[0] * launch.block[1] * launch.block[2]


def _block(launch: LaunchRecord) -> tuple[Category, str] | None:
    if _threads(launch) > MAX_THREADS:
        return Category.OVERSIZED_BLOCK, f"block {extent(launch.block)}, the device allows {MAX_THREADS} threads"
    if any(size > limit for size, limit in zip(launch.block, MAX_BLOCK, strict=True)):
        return Category.OVERSIZED_BLOCK, f"block {extent(launch.block)}, the device allows {extent(MAX_BLOCK)}"
    return None


def _empty(launch: LaunchRecord) -> tuple[Category, str] | None:
    for name, size in (("grid", launch.grid), ("block", launch.block)):
        if 0 in size:
            return Category.INVALID_LAUNCH, f"{name} {extent(size)} is empty: each dimension must be at least 1"
    return None


def _grid(launch: LaunchRecord) -> tuple[Category, str] | None:
    if any(size > limit for size, limit in zip(launch.grid, MAX_GRID, strict=True)):
        return Category.INVALID_LAUNCH, f"grid {extent(launch.grid)}, the device allows {extent(MAX_GRID)}"
    return None


def _registers(launch: LaunchRecord) -> tuple[Category, str] | None:
    limits = launch.limits
    if limits is None or not 0 < limits.max_threads < _threads(launch):
        return None
    asked = f"block {extent(launch.block)} has {_threads(launch)} threads"
    allowed = f"its {limits.registers} registers per thread allow {limits.max_threads} (__launch_bounds__ makes the compiler use fewer)"
    return Category.INVALID_LAUNCH, f"{asked}, {allowed}"


def _shared(launch: LaunchRecord) -> tuple[Category, str] | None:
    static = launch.limits.static_shared_bytes if launch.limits else 0
    allowed = launch.limits.max_dynamic_shared_bytes if launch.limits else DEFAULT_SHARED_BYTES
    if launch.shared_bytes <= allowed:
        return None
    beside = f" and {static} static bytes" if static else ""
    ask = f"cudaFuncSetAttribute({plain_name(launch.kernel)}, cudaFuncAttributeMaxDynamicSharedMemorySize, {launch.shared_bytes})"
    words = f"{launch.shared_bytes} bytes of dynamic shared memory{beside}, {allowed} are allowed; for more, call {ask}"
    return Category.INVALID_LAUNCH, words


def _cluster(launch: LaunchRecord) -> tuple[Category, str] | None:
    cluster = launch.cluster
    if cluster is None or 0 in cluster:
        return None
    if any(blocks % size for blocks, size in zip(launch.grid, cluster, strict=True)):
        return Category.INVALID_LAUNCH, f"grid {extent(launch.grid)} is not a multiple of the cluster {extent(cluster)}"
    if cluster[0] * cluster[1] * cluster[2] > PORTABLE_CLUSTER_BLOCKS:
        allowed = f"{PORTABLE_CLUSTER_BLOCKS} blocks are allowed, or 16 with cudaFuncAttributeNonPortableClusterSizeAllowed on GPUs with 16"
        return Category.INVALID_LAUNCH, f"cluster {extent(cluster)}; {allowed}"
    return None


LIMITS: tuple[Limit, ...] = (_block, _empty, _grid, _registers, _shared, _cluster)
"""In order: the first limit that a launch exceeds is the reason."""

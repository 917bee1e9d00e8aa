"""Kernel launches: what was launched, with which limits and times."""

from evaluator.results.evidence.record import Record


class KernelLimits(Record):
    """What limits the launches of one kernel (cudaFuncGetAttributes), told by the worker's process."""

    registers: int
    """A thread."""
    static_shared_bytes: int
    """A block."""
    local_bytes: int
    """A thread: stack, and registers that were spilled."""
    max_threads: int
    """A block, as far as registers allow."""
    max_dynamic_shared_bytes: int
    """A block, with what the kernel has asked for by cudaFuncSetAttribute."""


class LaunchRecord(Record):
    """All launches of one kernel from one shared object."""

    api: str
    kernel: str
    """Demangled where it could be."""
    object: str
    """Base name of the shared object that asked for the launch; `extension` for one that the builder made."""
    own: bool
    """Whether that object is an extension of the submission's."""
    count: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    """Dynamic shared memory asked for."""
    code: int
    """Return code of the first refused launch, else 0; grid, block and shared_bytes are that launch's."""
    first: int
    """Position of this record's launch (the refused one where there is one) among all launches of the process."""
    side_stream: bool = False
    """Whether any of the launches named another stream than the default one."""
    last: int = 0
    """Position of the last of these launches among all of the process."""
    pending: bool = False
    """Whether one of them has not come back, where launches wait for their kernels: then first, grid, block and shared_bytes are its."""
    cluster: tuple[int, int, int] | None = None
    """Blocks of a cluster, where the launch asked for clusters."""
    limits: KernelLimits | None = None
    """Of the submission's own kernels, where the runtime told them."""
    timed: int = 0
    """Launches whose time on the device was taken (KernelTimes)."""
    device_ms: float = 0.0
    """Their total time, by events around each: a claim of the worker's process, some microseconds longer than the kernel itself."""

    @property
    def each_ms(self) -> float | None:
        """The time of one of these launches, on average; None where none was timed."""
        return self.device_ms / self.timed if self.timed else None


class KernelTimes(Record):
    """Calls in which the time of each launch was taken (evaluator/worker/launch_clock.h), after those that count. Of verdicts, only
    that of own kernels which do next to nothing rests on them (OwnWorkEvidence).

    What was launched past PyTorch's CUDA runtime, as cuBLAS does, is in the calls' time and in that of no launch.
    """

    calls: int
    call_ms: float
    """Of all these calls together, by the worker's events."""


class FaultEvidence(Record):
    """The kernel that broke the device or did not end, by a second run in which launches wait for their kernels."""

    kernel: str
    own: bool
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    position: int
    """Of its launch among all of the second run."""

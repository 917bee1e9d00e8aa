"""Kernel launches, with their limits and times."""

from evaluator.results.evidence.record import Record


class KernelLimits(Record):
    """Limits on launches of one kernel (cudaFuncGetAttributes), reported by the worker's process."""

    registers: int
    """Per thread."""
    static_shared_bytes: int
    """Per CUDA block."""
    local_bytes: int
    """Per thread: stack and spilled registers."""
    max_threads: int
    """Maximum per CUDA block, given its registers."""
    max_dynamic_shared_bytes: int
    """Maximum per CUDA block, after the kernel's cudaFuncSetAttribute."""


class LaunchRecord(Record):
    """All launches of one kernel from one shared object."""

    api: str
    kernel: str
    """Demangled if possible."""
    object: str
    """Base name of the launching shared object; `extension` for one that the builder made."""
    own: bool
    """Whether the kernel is the submission's own."""
    count: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    """Dynamic shared memory per CUDA block."""
    code: int
    """Return code of the first refused launch, else 0; grid, block and shared_bytes are that launch's."""
    first: int
    """Position of the first launch, or of the first refused one, among all launches of the process."""
    side_stream: bool = False
    """Whether any launch used another stream than the default one."""
    last: int = 0
    """Position of the last launch among all launches of the process."""
    pending: bool = False
    """Whether a launch that waits for its kernel has not returned. Then first, grid, block and shared_bytes are those of this launch."""
    cluster: tuple[int, int, int] | None = None
    """CUDA blocks per cluster; None if the launch uses no clusters."""
    limits: KernelLimits | None = None
    """Only for the submission's own kernels, if the runtime reports them."""
    timed: int = 0
    """Number of measured launches (KernelTimes)."""
    device_ms: float = 0.0
    """Their total time, by events around each: a claim of the worker's process, some microseconds longer than the kernel."""

    @property
    def each_ms(self) -> float | None:
        """Mean time of a launch; None if none was measured."""
        return self.device_ms / self.timed if self.timed else None


class KernelTimes(Record):
    """Calls in which each launch was measured (evaluator/worker/launch_clock.h), after those that count. The only verdict that depends
    on them is that of own kernels which do almost nothing (OwnWorkEvidence).

    Launches that bypass PyTorch's CUDA runtime, such as cuBLAS', are in the calls' time but not measured themselves.
    """

    calls: int
    call_ms: float
    """Total time of these calls, by the worker's events."""


class FaultEvidence(Record):
    """The kernel that failed or did not end, found by a second run in which launches wait for their kernels."""

    kernel: str
    own: bool
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    position: int
    """Position of its launch among all launches of the second run."""

"""Nsight Compute's measurements of the kernels of one call."""

from collections.abc import Iterable
from typing import Literal

from evaluator.results.evidence.device import LightEvidence
from evaluator.results.evidence.record import Record

Limit = Literal["registers", "shared memory", "block size", "blocks"]
"""Resource that limits the warps on a multiprocessor; `blocks`: its maximum number of CUDA blocks."""


class Stall(Record):
    """A reason why warps waited."""

    reason: str
    """Nsight Compute's name, as in `long_scoreboard`."""
    share: float
    """Share of all samples in which a warp waited."""


class KernelProfile(Record):
    """One launch of a kernel. Shares are from 0 to 1; None means not measured."""

    kernel: str
    own: bool
    """Whether it has the name of one of the submission's own kernels."""
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    duration_ms: float | None = None
    memory_share: float | None = None
    """Share of the device memory's peak bandwidth."""
    arithmetic_share: float | None = None
    """Share of the peak throughput of a multiprocessor's busiest unit, as defined by Nsight Compute."""
    occupancy: float | None = None
    """Warps on an active multiprocessor, as a share of its maximum."""
    occupancy_limit: float | None = None
    """The maximum occupancy that the launch permits."""
    limited_by: tuple[Limit, ...] = ()
    """The limits that set `occupancy_limit`; empty if it is the full multiprocessor."""
    registers: int | None = None
    """Per thread."""
    shared_bytes: int | None = None
    """Per CUDA block, static and dynamic."""
    l2_hit_share: float | None = None
    read_bytes: int | None = None
    """From device memory."""
    written_bytes: int | None = None
    """To device memory."""
    instructions: int | None = None
    """Executed by warps."""
    issue_share: float | None = None
    """Share of the instructions that the multiprocessors could have issued in this time."""
    stalls: tuple[Stall, ...] = ()
    """The three main reasons, most frequent first."""

    @property
    def issue_ms(self) -> float | None:
        """Minimum time to issue its instructions: with all issue slots used."""
        return None if self.duration_ms is None or self.issue_share is None else self.duration_ms * self.issue_share


class ProfiledSide(Record):
    """The kernels of one call of the submission or of the reference."""

    outcome: Literal["ended", "deadline", "refused", "failed"]
    """`deadline`: time ran out; the measurements so far count. `refused`: the driver denies access to performance counters."""
    kernels: tuple[KernelProfile, ...] = ()
    """In launch order."""
    partial: bool = False
    """Whether the call has further kernels: library kernels beside the submission's own, or kernels beyond the limits."""
    passes: int | None = None
    """Maximum number of runs of a kernel."""
    duration_s: float = 0.0
    """Duration of the whole run, without builds and waiting."""
    remark: str = ""
    """Why it did not finish."""

    @property
    def duration_ms(self) -> float | None:
        """Total time of all kernels. Like all of these sums, None if the value of one kernel is unknown."""
        return _sum(kernel.duration_ms for kernel in self.kernels)

    @property
    def read_bytes(self) -> float | None:
        """From device memory."""
        return _sum(kernel.read_bytes for kernel in self.kernels)

    @property
    def moved_bytes(self) -> float | None:
        """From device memory and to it."""
        return _sum(bytes_ for kernel in self.kernels for bytes_ in (kernel.read_bytes, kernel.written_bytes))

    @property
    def instructions(self) -> float | None:
        """Executed by warps."""
        return _sum(kernel.instructions for kernel in self.kernels)

    @property
    def issue_ms(self) -> float | None:
        """Minimum time to issue all instructions."""
        return _sum(kernel.issue_ms for kernel in self.kernels)


class ProfileEvidence(Record):
    """A profile of a right submission, on request (evaluator.profiler.runs). No verdict depends on it: Nsight Compute works inside the
    profiled process, so its figures are claims of the submission."""

    version: str = ""
    """Version of Nsight Compute; empty if not found."""
    case: str | None = None
    """The profiled case, which may differ from the evaluation's."""
    remark: str = ""
    """Why nothing, or another case, was profiled."""
    submission: ProfiledSide | None = None
    """Only its own kernels."""
    reference: ProfiledSide | None = None
    """All of its kernels. Evaluations of the same problem reuse it."""
    light: LightEvidence | None = None
    """The work of that case and the device's measured peaks, determined by the judge."""


def _sum(values: Iterable[float | None]) -> float | None:
    """None if there is no value, or one is unknown."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if found and len(known) == len(found) else None

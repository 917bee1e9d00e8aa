"""What Nsight Compute measured of the kernels of one call."""

from collections.abc import Iterable
from typing import Literal

from evaluator.results.evidence.device import LightEvidence
from evaluator.results.evidence.record import Record

Limit = Literal["registers", "shared memory", "block size", "blocks"]
"""What keeps a multiprocessor from holding more warps; `blocks` is the most blocks that it holds of any kernel."""


class Stall(Record):
    """A reason for which warps waited."""

    reason: str
    """Nsight Compute's name, as in `long_scoreboard`."""
    share: float
    """Of all samples in which a warp waited."""


class KernelProfile(Record):
    """One launch of a kernel. Shares are from 0 to 1; None stands for what was not measured."""

    kernel: str
    own: bool
    """Whether it has the name of one of the submission's own kernels."""
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    duration_ms: float | None = None
    memory_share: float | None = None
    """Of the device memory's peak bandwidth."""
    arithmetic_share: float | None = None
    """Of the peak of the busiest part of a multiprocessor, by Nsight Compute's measure of its throughput."""
    occupancy: float | None = None
    """Warps on a multiprocessor while it works, of those that it can hold."""
    occupancy_limit: float | None = None
    """The same as far as the launch permits."""
    limited_by: tuple[Limit, ...] = ()
    """What sets `occupancy_limit`; empty where that is all of the multiprocessor."""
    registers: int | None = None
    """A thread."""
    shared_bytes: int | None = None
    """A block, static and dynamic."""
    l2_hit_share: float | None = None
    read_bytes: int | None = None
    """From device memory."""
    written_bytes: int | None = None
    """To device memory."""
    instructions: int | None = None
    """Executed by warps."""
    issue_share: float | None = None
    """Of the instructions that the multiprocessors could have issued in this time."""
    stalls: tuple[Stall, ...] = ()
    """The three main ones, the first first."""


class ProfiledSide(Record):
    """The kernels of one call of the submission or of the reference."""

    outcome: Literal["ended", "deadline", "refused", "failed"]
    """`deadline`: time ran out, and what had been measured until then counts. `refused`: the driver grants no performance counters."""
    kernels: tuple[KernelProfile, ...] = ()
    """In the order in which they were launched."""
    partial: bool = False
    """Whether the call has further kernels: those of libraries beside the submission's own, or those that the limits left out."""
    passes: int | None = None
    """How often each kernel ran, at the most."""
    duration_s: float = 0.0
    """Of the whole run, builds and waiting aside."""
    remark: str = ""
    """What kept it from the end."""

    @property
    def duration_ms(self) -> float | None:
        """Time of all kernels; None where that of one of them is not known, as in all of these sums."""
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


class ProfileEvidence(Record):
    """A profile of a right submission, on request (evaluator.judge.profile_runs). No verdict rests on it: Nsight Compute works inside the
    process that it watches, so that its figures are the submission's own statement."""

    version: str = ""
    """Of Nsight Compute; empty where it was not found."""
    case: str | None = None
    """The set of shapes that was profiled, which need not be the evaluation's."""
    remark: str = ""
    """Why nothing was profiled, or another case was."""
    submission: ProfiledSide | None = None
    """Its own kernels alone."""
    reference: ProfiledSide | None = None
    """All of its kernels. Kept from one evaluation of a problem to the next."""
    light: LightEvidence | None = None
    """What that case asks for, and the device's measured peaks; by the judge."""


def _sum(values: Iterable[float | None]) -> float | None:
    """None where there is no value, or one is not known."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if found and len(known) == len(found) else None

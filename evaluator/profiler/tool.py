"""ncu on this machine, and its command line.

It replays each kernel once per pass: memory that a kernel may have written is restored before the next. Restoring gigabytes takes longer
than the kernel, so only few metrics are asked for, which fit into about ten passes. Stalls are sampled, all reasons in one pass; counting
them would take a pass for every few.
"""

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evaluator.nvidia_tools.find import find_tool
from evaluator.nvidia_tools.program import LOG_PATH

PROGRAM = "ncu"
MAX_KERNELS = 16
"""Number of launches of one call to profile, from the first."""
DURATION = "gpu__time_duration.sum"
MEMORY = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
ARITHMETIC = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
OCCUPANCY_LIMIT = "sm__maximum_warps_per_active_cycle_pct"
L2_HITS = "lts__t_sector_hit_rate.pct"
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
INSTRUCTIONS, PER_CYCLE = "sm__inst_executed.sum", "sm__inst_executed.avg.per_cycle_elapsed"
REGISTERS = "launch__registers_per_thread"
SHARED = ("launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic")
LIMITS = {
    "launch__occupancy_limit_registers": "registers",
    "launch__occupancy_limit_shared_mem": "shared memory",
    "launch__occupancy_limit_warps": "block size",
    "launch__occupancy_limit_blocks": "blocks",
}
"""Blocks on a multiprocessor by each limit, and Assay's name for it."""
STALLS = "group:smsp__pcsamp_warp_stall_reasons"
STALL = "smsp__pcsamp_warps_issue_stalled_"
"""Prefix of the group's metrics; each is a number of samples."""
METRICS = (
    *(DURATION, MEMORY, ARITHMETIC, OCCUPANCY, OCCUPANCY_LIMIT, L2_HITS, READ, WRITTEN),
    *(INSTRUCTIONS, PER_CYCLE, REGISTERS, *SHARED, *LIMITS, STALLS),
)
_NAME = re.compile(r"(?!_Z)[A-Za-z_][A-Za-z0-9_]*")
"""A plain name; ncu prints mangled ones, which begin with `_Z`, in another form."""
_PORTS = range(20_000, 60_000)
"""ncu and its child meet at one of these ports if the sandbox shares the network."""
_INSTALLED = "/opt/nvidia/nsight-compute"
"""Where a script in the toolkit's bin folder may find the actual program; otherwise it is in the toolkit."""


@dataclass(frozen=True)
class Profiler:
    """An ncu that reported its version."""

    program: str
    """Absolute path."""
    version: str

    @property
    def readonly_paths(self) -> tuple[str, ...]:
        """Paths that a confined program needs to run it."""
        program = Path(self.program)
        own = (program, program.resolve(), program.resolve().parent)
        beside = (path for each in own[:2] for path in sorted(each.parent.parent.glob("nsight-compute*")))
        return tuple(dict.fromkeys(str(path) for path in (*own, *beside, Path(_INSTALLED)) if path.exists()))


def find() -> Profiler:
    """The program of this machine. Raises ToolMissingError."""
    return Profiler(*find_tool(PROGRAM))


def command(profiler: Profiler, kernels: Iterable[str] = ()) -> tuple[str, ...]:
    """ncu's part of the command line; the program to run follows.

    It profiles launches between cudaProfilerStart and cudaProfilerStop; only those of `kernels`, bare names, if any are given. Caches are
    flushed before each pass, as before each timed call, so that passes are alike. The clock is not locked to its base: then the device
    would differ from the timed one, and locking needs rights.
    """
    named = pattern(kernels)
    return (
        profiler.program,
        *("--log-file", LOG_PATH, "--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(METRICS)),
        *("--target-processes", "application-only", "--profile-from-start", "off", "--launch-count", str(MAX_KERNELS)),
        *("--replay-mode", "kernel", "--cache-control", "all", "--clock-control", "none", "--apply-rules", "off"),
        *("--check-exit-code", "no", "--port", str(secrets.choice(_PORTS))),
        *(("--kernel-name-base", "demangled", "--kernel-name", f"regex:{named}") if named else ()),
    )


def pattern(kernels: Iterable[str]) -> str:
    """A regular expression that finds one of these bare names in a kernel's full name; empty if one is not a plain name."""
    names = sorted(set(kernels))
    if not names or not all(_NAME.fullmatch(name) for name in names):
        return ""
    return rf"(^|[^A-Za-z0-9_])({'|'.join(names)})([^A-Za-z0-9_]|$)"

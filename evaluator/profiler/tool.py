"""ncu on this machine, and its command line.

It replays each kernel, once for each pass: what a kernel may have written is put back before it runs again. Putting back gigabytes takes
longer than the kernel, so that few metrics are asked for, which fit into about ten passes. Stalls are sampled, all reasons in one pass;
to count them would take a pass for every few.
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
"""Launches of one call that are profiled, the first ones."""
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
"""Blocks on a multiprocessor by each limit, and what it is called here."""
STALLS = "group:smsp__pcsamp_warp_stall_reasons"
STALL = "smsp__pcsamp_warps_issue_stalled_"
"""What the names of the group's metrics begin with; each is a number of samples."""
METRICS = (
    *(DURATION, MEMORY, ARITHMETIC, OCCUPANCY, OCCUPANCY_LIMIT, L2_HITS, READ, WRITTEN),
    *(INSTRUCTIONS, PER_CYCLE, REGISTERS, *SHARED, *LIMITS, STALLS),
)
_NAME = re.compile(r"(?!_Z)[A-Za-z_][A-Za-z0-9_]*")
"""A plain name; those that begin with `_Z` are mangled, and ncu gives them in another form."""
_PORTS = range(20_000, 60_000)
"""Where the sandbox is not alone on the network, ncu and its child meet at one of these ports."""
_INSTALLED = "/opt/nvidia/nsight-compute"
"""Where a script in the toolkit's bin folder may find the program proper; else it lies in the toolkit."""


@dataclass(frozen=True)
class Profiler:
    """An ncu that answered when it was asked for its version."""

    program: str
    """Absolute path."""
    version: str

    @property
    def readonly_paths(self) -> tuple[str, ...]:
        """What a confined program has to see to run it."""
        program = Path(self.program)
        own = (program, program.resolve(), program.resolve().parent)
        beside = (path for each in own[:2] for path in sorted(each.parent.parent.glob("nsight-compute*")))
        return tuple(dict.fromkeys(str(path) for path in (*own, *beside, Path(_INSTALLED)) if path.exists()))


def find() -> Profiler:
    """The program of this machine. Raises ToolMissingError."""
    return Profiler(*find_tool(PROGRAM))


def command(profiler: Profiler, kernels: Iterable[str] = ()) -> tuple[str, ...]:
    """ncu's part of the command line; what it is to run follows.

    It profiles what is launched between cudaProfilerStart and cudaProfilerStop: of `kernels`, bare names, alone where there are any.
    Caches are flushed before each pass, as before each timed call, so that passes are alike. The clock is left as it is: to hold it at its
    base would measure another device than the timing, and takes rights.
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
    """A regular expression that finds one of these bare names in a kernel's whole name; empty where one of them is no plain name."""
    names = sorted(set(kernels))
    if not names or not all(_NAME.fullmatch(name) for name in names):
        return ""
    return rf"(^|[^A-Za-z0-9_])({'|'.join(names)})([^A-Za-z0-9_]|$)"

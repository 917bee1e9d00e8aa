"""Keeps cores awake while calls are timed on a CPU.

A core with nothing to run sleeps, and a process that is woken there waits for it: 0.05 to 0.2 ms in a virtual machine, more in one
evaluation than in another. So each core of a timing has a process that does nothing, of the scheduler's class SCHED_IDLE: whatever else
wants to run there takes its place at once. Where a control group gives the time of some cores only, these processes would use that up, and
all would be stopped until there is more: there cores sleep.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluator.judge.device.cpu_affinity import whole_quota

MOST_CORES = 8
"""With more cores than these, none is kept awake: that would take their time from each other's clock rate."""

_PROGRAM = """
import os, signal, sys
for core in map(int, sys.argv[1:]):
    if os.fork() == 0:
        os.sched_setaffinity(0, {core})
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        parent = os.getppid()
        while os.getppid() == parent:
            for _ in range(100_000):
                pass
        os._exit(0)
print(flush=True)
sys.stdin.read()
os.killpg(0, signal.SIGKILL)
"""
"""It ends with the judge even where that is killed: its standard input does then."""


@contextlib.contextmanager
def kept_awake(cores: Sequence[int], root: Path = Path("/")) -> Iterator[None]:
    """Keep these cores awake; where that can't be done, they sleep as ever. `root` is where /proc and /sys are."""
    if not cores or len(cores) > MOST_CORES or whole_quota(root) is not None:
        yield
        return
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            stack.enter_context(_started(cores))
        yield


@contextlib.contextmanager
def _started(cores: Sequence[int]) -> Iterator[None]:
    argv = [sys.executable, "-I", "-S", "-c", _PROGRAM, *map(str, cores)]
    # A group of its own: it is killed whole, and Ctrl-C is for the judge. No session of its own: Linux shares processors out by sessions.
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0)
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdout.readline()
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdin.close()
        process.stdout.close()

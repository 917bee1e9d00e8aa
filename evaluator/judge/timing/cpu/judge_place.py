"""Keeps the judge, with all of its threads, off the workers' cores while calls are timed on a CPU, and all of these cores awake.

An idle core sleeps, and a process that is woken there waits for it: 0.05 to 0.2 ms in a virtual machine, differently in each evaluation. So
each core of a timing has a busy process of the scheduler's class SCHED_IDLE: any other process takes its place at once. If a control group
limits CPU time, these processes would use up the limit, and all processes would be paused: then cores sleep.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from evaluator.judge.device.cpu_affinity import judge_core, whole_quota
from evaluator.sandbox.affinity import kept_to

MOST_CORES = 8
"""With more cores than these, none is kept awake: that would lower the clock rate of all."""

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
"""Program that keeps cores awake. It ends with the judge, even if that is killed, since its standard input then closes."""


class JudgePlace:
    """The judge's core during one timing. On a GPU, or if workers are not pinned, the judge keeps all of its cores."""

    def __init__(self, worker_cores: Sequence[int]) -> None:
        self._threads, self._allowed = torch.get_num_threads(), tuple(os.sched_getaffinity(0))
        self._cores, self._worker_cores = judge_core(worker_cores), tuple(worker_cores)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Pin the judge to its core, and limit PyTorch's threads to it: another thread would copy inputs on a worker's core. Keep its core
        and the workers' awake."""
        awake = sorted({*self._cores, *self._worker_cores})
        with kept_to(self._cores), _threads(len(self._cores) or self._threads), kept_awake(awake):
            yield

    @contextmanager
    def left(self) -> Iterator[None]:
        """Within `kept`, give the judge all cores and threads back for long work, while no call is timed."""
        with kept_to(self._allowed if self._cores else ()), _threads(self._threads):
            yield


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def kept_awake(cores: Sequence[int], root: Path = Path("/")) -> Iterator[None]:
    """Keep these cores awake, if possible. `root` is the folder of /proc and /sys."""
    if not cores or len(cores) > MOST_CORES or whole_quota(root) is not None:
        yield
        return
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            stack.enter_context(_started(cores))
        yield


@contextmanager
def _started(cores: Sequence[int]) -> Iterator[None]:
    argv = [sys.executable, "-I", "-S", "-c", _PROGRAM, *map(str, cores)]
    # Its own process group: killed as a whole, and Ctrl-C goes to the judge. No session of its own: Linux shares CPU cores by session.
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

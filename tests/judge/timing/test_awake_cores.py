"""Cores that are kept awake."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from evaluator.judge.timing import awake_cores
from evaluator.judge.timing.awake_cores import kept_awake

PROGRAM = """
import os, time
from evaluator.judge.timing.awake_cores import kept_awake
with kept_awake([min(os.sched_getaffinity(0))]):
    print("awake", flush=True)
    time.sleep(60)
"""


def idle_below(pid: int) -> list[set[int]]:
    """The cores of each process below this one that gives way to all others."""
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        try:
            if os.sched_getscheduler(process.pid) == os.SCHED_IDLE:
                found.append(os.sched_getaffinity(process.pid))
        except ProcessLookupError:
            continue
    return found


def test_each_core_has_a_process_that_gives_way() -> None:
    cores = sorted(os.sched_getaffinity(0))[:2]
    with kept_awake(cores):
        until = time.monotonic() + 10.0
        while len(idle_below(os.getpid())) < len(cores) and time.monotonic() < until:
            time.sleep(0.01)
        assert sorted(idle_below(os.getpid()), key=min) == [{core} for core in cores]
    assert idle_below(os.getpid()) == []


def test_they_end_with_a_judge_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as judge:
        assert judge.stdout is not None and judge.stdout.readline() == "awake\n"
        below = psutil.Process(judge.pid).children(recursive=True)
        assert len(below) == 2
        judge.kill()
        assert psutil.wait_procs(below, timeout=10.0)[1] == []


@pytest.mark.parametrize("cores", [(), tuple(range(awake_cores.MOST_CORES + 1))])
def test_on_no_core_and_on_many_none_is(cores: tuple[int, ...]) -> None:
    with kept_awake(cores):
        assert idle_below(os.getpid()) == []


def test_where_nothing_can_be_started_they_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    with kept_awake([min(os.sched_getaffinity(0))]):
        assert idle_below(os.getpid()) == []

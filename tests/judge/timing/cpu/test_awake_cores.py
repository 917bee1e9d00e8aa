"""Cores that are kept awake."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from evaluator.judge.timing.cpu.judge_place import MOST_CORES, kept_awake

PROGRAM = """
import os, time
from evaluator.judge.timing.cpu.judge_place import kept_awake
from pathlib import Path
with kept_awake([min(os.sched_getaffinity(0))], Path("/nonexistent")):
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


def test_each_core_has_a_process_that_gives_way(tmp_path: Path) -> None:
    cores = sorted(os.sched_getaffinity(0))[:2]
    with kept_awake(cores, tmp_path):
        until = time.monotonic() + 300.0
        while len(idle_below(os.getpid())) < len(cores) and time.monotonic() < until:
            time.sleep(0.01)
        assert sorted(idle_below(os.getpid()), key=min) == [{core} for core in cores]
    assert idle_below(os.getpid()) == []


@pytest.mark.slow
def test_they_end_with_a_judge_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as judge:
        assert judge.stdout is not None and judge.stdout.readline() == "awake\n"
        below = psutil.Process(judge.pid).children(recursive=True)
        assert len(below) == 2
        judge.kill()
        assert psutil.wait_procs(below, timeout=300.0)[1] == []


@pytest.mark.parametrize("cores", [(), tuple(range(MOST_CORES + 1))])
def test_on_no_core_and_on_many_none_is(tmp_path: Path, cores: tuple[int, ...]) -> None:
    with kept_awake(cores, tmp_path):
        assert idle_below(os.getpid()) == []


@pytest.mark.parametrize(("limit", "count"), [("200000", 0), ("max", 1)])
def test_where_a_control_group_gives_the_time_of_some_cores_they_sleep(tmp_path: Path, limit: str, count: int) -> None:
    files = {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": f"{limit} 100000\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with kept_awake([min(os.sched_getaffinity(0))], tmp_path):
        until = time.monotonic() + (300.0 if count else 0.5)
        while len(idle_below(os.getpid())) != max(count, 1) and time.monotonic() < until:
            time.sleep(0.01)
        assert len(idle_below(os.getpid())) == count


def test_where_nothing_can_be_started_they_sleep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    with kept_awake([min(os.sched_getaffinity(0))], tmp_path):
        assert idle_below(os.getpid()) == []

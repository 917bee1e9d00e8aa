"""Finding this machine's judging processes in the kernel's list of locks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.judge.device import judging_processes
from evaluator.judge.device.judging_processes import OtherProcesses, announce, holders, judging

LOCKS = """\
1: FLOCK  ADVISORY  READ 100 fe:00:4711 0 EOF
1: -> FLOCK  ADVISORY  WRITE 101 fe:00:4711 0 EOF
2: FLOCK  ADVISORY  READ 102 fe:00:4712 0 EOF
3: POSIX  ADVISORY  WRITE 103 fe:00:4711 0 EOF
4: FLOCK  ADVISORY  READ 104 00:2b:4711 0 EOF
"""


def test_holders_are_read_from_the_kernels_list() -> None:
    assert holders(LOCKS, 4711) == {100, 104}
    assert holders("", 4711) == holders("nothing of the kind\n", 4711) == frozenset()


def test_who_announces_itself_judges_until_it_ends() -> None:
    code = "from evaluator.judge.device.judging_processes import announce; announce(); print('here', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline() == b"here\n"
        found = judging()
        assert found is not None and {os.getpid(), other.pid} <= found
        other.stdin.close()
    found = judging()
    assert found is not None and other.pid not in found


def test_a_fork_announces_itself_anew() -> None:
    announce()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        found = judging() or frozenset()
        os.write(writer, b"y" if os.getpid() in found else b"n")
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reader, 1) == b"y"
    os.close(reader)
    os.close(writer)


def test_a_list_that_this_process_is_not_on_says_nothing() -> None:
    assert OtherProcesses().count(None) is None
    assert OtherProcesses().count([]) is None
    assert OtherProcesses().count([os.getpid() + 1]) is None


def test_what_is_below_a_judge_is_no_stranger_and_what_is_not_is_one() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as worker:
        assert OtherProcesses().count([os.getpid()]) == 0
        assert OtherProcesses().count([os.getpid(), worker.pid]) == 0
        assert OtherProcesses().count([os.getpid(), worker.pid, 1]) == 1, "the first process of the machine judges nothing"
    assert OtherProcesses().count([os.getpid(), worker.pid]) == 0, "it has ended"


def test_a_sibling_is_a_stranger_until_it_judges() -> None:
    """Started by a process above this one's, as another user's program would be, it has no judge above it."""
    code = "import os, sys, time; pid = os.fork(); print(pid, flush=True) if pid else time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        orphan = int(shell.stdout.readline())
        shell.wait()
        try:
            assert Path("/proc", str(orphan)).exists()
            assert OtherProcesses().count([os.getpid(), orphan]) == 1
        finally:
            os.kill(orphan, 9)


def test_who_judges_is_found_out_when_a_stranger_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[frozenset[int] | None] = [frozenset({os.getpid(), 1}), frozenset({os.getpid()}), None]
    monkeypatch.setattr(judging_processes, "judging", lambda: asked.pop(0))
    found = OtherProcesses()
    assert found.count([os.getpid()]) == 0 and len(asked) == 3
    assert found.count([os.getpid(), 1]) == found.count([os.getpid(), 1]) == 0 and len(asked) == 2
    assert found.count([os.getpid(), os.getppid()]) == 0 and len(asked) == 2, "the first process of all is above it"
    assert OtherProcesses().count([os.getpid(), 1]) == 1
    assert OtherProcesses().count([os.getpid(), 1]) is None

"""A program is kept to its cores, from outside."""

import os
import platform
import subprocess
import sys

import pytest

from evaluator.sandbox import Exit, Program, SandboxUnavailable, Zygote
from evaluator.sandbox.affinity import cores_of, kept_to
from evaluator.sandbox.levels import seccomp
from tests.sandbox.conftest import SYSTEM_ENTRIES, Runner, runner

ALL = sorted(os.sched_getaffinity(0))
LAST = ALL[-1]
CORES = f"{SYSTEM_ENTRIES}:cores"


def everywhere(cores: list[int]) -> list[object]:
    """Expected reports: the cores of a process and of a thread, and the number of a child's."""
    return [cores, cores, len(cores)]


def test_a_program_its_threads_and_its_children_begin_on_its_cores(run: Runner) -> None:
    ended, found = run(CORES, ALL, cores=(LAST,))
    assert ended == Exit(0), found
    assert found["at first"] == everywhere([LAST])


@pytest.mark.skipif(platform.machine() not in seccomp._AUDIT_ARCH, reason="there is no system call filter for this machine")
def test_no_thread_of_it_gets_away_from_them_or_chooses_among_them(zygote: Zygote) -> None:
    ended, found = runner(zygote)(CORES, ALL, cores=(LAST,))
    assert ended == Exit(0), found
    assert found["asked"] == ["refused"] * 3 and found["then"] == everywhere([LAST])
    _, found = runner(zygote)(CORES, [LAST], cores=tuple(ALL))
    assert found["asked"] == ["refused"] * 3 and found["then"] == everywhere(ALL)


def test_who_is_kept_to_none_may_choose_and_is_not_held_by_the_one_before(run: Runner) -> None:
    run(CORES, ALL, cores=(LAST,))
    ended, found = run(CORES, [LAST])
    assert ended == Exit(0), found
    assert found["at first"] == everywhere(ALL)
    assert found["asked"] == ["done"] * 3 and found["then"] == everywhere([LAST])


def test_cores_that_are_not_there_are_a_fault_of_ours(any_zygote: Zygote) -> None:
    missing = max(ALL) + 1
    program = Program(argv=("true",), cores=(missing,))
    with pytest.raises(SandboxUnavailable, match="Invalid argument"), any_zygote.start_program(program) as confined:
        confined.wait(300)


def test_a_thread_has_its_cores_back_afterwards() -> None:
    with pytest.raises(ValueError, match="whatever"), kept_to([LAST]):
        assert os.sched_getaffinity(0) == {LAST}
        raise ValueError("whatever")
    assert sorted(os.sched_getaffinity(0)) == ALL
    with kept_to([]):
        assert sorted(os.sched_getaffinity(0)) == ALL


ELSEWHERE = """
import os, sys, threading
first, last = map(int, sys.argv[1:])
os.sched_setaffinity(0, [last])
begun, over = threading.Event(), threading.Event()
def elsewhere():
    os.sched_setaffinity(0, [first])
    begun.set()
    over.wait()
threading.Thread(target=elsewhere, daemon=True).start()
begun.wait()
print("ready", flush=True)
sys.stdin.read()
"""


def test_one_thread_elsewhere_is_seen() -> None:
    command = [sys.executable, "-S", "-c", ELSEWHERE, str(ALL[0]), str(LAST)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        assert cores_of([running.pid]) == {ALL[0], LAST}
        running.communicate()
    assert cores_of([running.pid]) == set(), "who is gone is nowhere"

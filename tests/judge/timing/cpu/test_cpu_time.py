"""Processor time as the kernel counts it, of processes that wait and processes that work."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evaluator.judge.timing.cpu.cpu_time import CpuTime

WAITS = "import time; print(flush=True); time.sleep(60)"
WORKS = "print(flush=True)\nwhile True: pass"
HAS_A_CHILD_THAT_WORKS = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {WORKS!r}])"
HAS_A_THREAD_THAT_WORKS = """
import threading, time
def work():
    while True: pass
threading.Thread(target=work, daemon=True).start()
print(flush=True)
time.sleep(60)
"""


WORKS_ON_A_SIGNAL = """
import signal, threading, time
def work():
    while time.thread_time() < 0.05: pass
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
print(flush=True)
signal.sigwait({signal.SIGUSR1})
threading.Thread(target=work).start()
time.sleep(60)
"""
ORPHAN_THAT_WORKS = f"""
import os, time
if not os.fork():
    if os.fork(): os._exit(0)
    exec({WORKS!r})
os.wait()
time.sleep(60)
"""
CONFINES = r"""
import ctypes, os, signal, sys
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
pid = os.fork()
if not pid:
    os.write(2, b"%d\n" % os.getpid())
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
signal.pause()
"""
"""Over each process here there is one that takes in its orphans and else does nothing, as in the sandbox."""


@contextmanager
def running(code: str) -> Iterator[int]:
    """A process that has got as far as printing a line; its number."""
    command = [sys.executable, "-c", CONFINES, code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            pid = int(process.stderr.readline())
            process.stdout.readline()
            yield pid
        finally:
            os.killpg(process.pid, 9)


def test_who_waits_uses_nothing_and_is_left_soon() -> None:
    with running(WAITS) as pid:
        while Path("/proc", str(pid), "stat").read_bytes().rpartition(b")")[2].split()[0] != b"S":
            time.sleep(0.01)
        assert CpuTime(pid).after_answer_ms(10.0) < 0.1


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(WORKS, id="process", marks=pytest.mark.slow),
        pytest.param(HAS_A_THREAD_THAT_WORKS, id="thread", marks=pytest.mark.slow),
        pytest.param(HAS_A_CHILD_THAT_WORKS, id="child", marks=pytest.mark.slow),
        pytest.param(ORPHAN_THAT_WORKS, id="orphan"),
    ],
)
def test_all_that_works_counts(code: str) -> None:
    with running(code) as pid:
        assert CpuTime(pid).after_answer_ms(1.0) > 5


def test_what_is_over_before_anybody_looks_counts_from_the_answer_on() -> None:
    with running(WORKS_ON_A_SIGNAL) as pid:
        cpu_time = CpuTime(pid)
        cpu_time.answered()
        before_ms = cpu_time.main_ms()
        os.kill(pid, signal.SIGUSR1)
        deadline = time.monotonic() + 60
        while cpu_time.main_ms() < before_ms + 50:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert cpu_time.since_answer_ms() >= 50 and cpu_time.after_answer_ms(0.1) >= 50
        cpu_time.answered()
        assert cpu_time.since_answer_ms() < 50, "what was before this answer belongs to another call"


def test_a_process_that_is_gone_has_used_nothing() -> None:
    with running(WAITS) as pid:
        cpu_time = CpuTime(pid)
    deadline = time.monotonic() + 60
    while cpu_time.after_answer_ms(0.1) > 0:  # to end takes a while
        assert time.monotonic() < deadline
        cpu_time.answered()

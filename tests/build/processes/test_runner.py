import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from evaluator.build.processes.runner import MAX_OUTPUT_BYTES, Ended, PlainRunner

ENV = {"PATH": "/usr/bin:/bin"}


def sh(script: str, folder: Path, timeout_s: float = 300.0) -> tuple[int | None, bool, str]:
    result = PlainRunner().run(("/bin/sh", "-c", script), folder, ENV, timeout_s)
    return result.code, result.timed_out, result.output


def test_runs_in_the_folder_with_the_environment_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    assert sh("pwd; echo [$SECRET]", tmp_path)[2] == f"{tmp_path}\n[]\n"


IN_A_GROUP_OF_ITS_OWN = f"{shlex.quote(sys.executable)} -c 'import os, time; os.setpgid(0, 0); time.sleep(600)'"


@pytest.mark.parametrize("child_command", ["sleep 600", "setsid sleep 600", IN_A_GROUP_OF_ITS_OWN])
def test_a_kill_ends_the_whole_session(tmp_path: Path, child_command: str) -> None:
    script = f"{child_command} & echo begun; echo $! > number; mv number child; wait"
    running = PlainRunner().start(("/bin/sh", "-c", script), tmp_path, ENV)
    deadline = time.monotonic() + 120
    while not (tmp_path / "child").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert running.wait(0.01) is None
    assert running.kill() == Ended(None, "begun\n")
    running.close()
    child = int((tmp_path / "child").read_text())
    while is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_what_runs_on_at_the_deadline_is_ended_and_told(tmp_path: Path) -> None:
    assert sh("exec sleep 600", tmp_path, 0.1) == (None, True, "")


def test_flood_is_capped_and_does_not_block(tmp_path: Path) -> None:
    code, timed_out, output = sh("head -c 50000000 /dev/zero | tr '\\0' x", tmp_path)
    assert (code, timed_out, len(output)) == (0, False, MAX_OUTPUT_BYTES)


def test_output_that_is_not_utf8_is_readable(tmp_path: Path) -> None:
    assert sh("printf 'a\\377b'", tmp_path)[2] == "a\ufffdb"


def test_child_that_keeps_the_pipe_open_does_not_hold_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.build.processes.runner._DRAIN_GRACE_S", 0.2)
    assert sh("sleep 600 & echo $! > child; echo done", tmp_path)[:2] == (0, False)
    os.kill(int((tmp_path / "child").read_text()), 9)  # raises if it has ended before


def test_missing_command_raises(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        PlainRunner().run(("/no/such/compiler",), tmp_path, ENV, 1)

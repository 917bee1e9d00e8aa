import os
import sys
import time
from pathlib import Path

import pytest

from evaluator.build.processes.runner import MAX_OUTPUT_BYTES, PlainRunner

ENV = {"PATH": "/usr/bin:/bin"}


def sh(script: str, folder: Path, timeout_s: float = 10.0) -> tuple[int | None, bool, str]:
    result = PlainRunner().run(("/bin/sh", "-c", script), folder, ENV, timeout_s)
    return result.code, result.timed_out, result.output


def test_code_and_both_streams_are_reported(tmp_path: Path) -> None:
    assert sh("echo out; echo err >&2; exit 3", tmp_path) == (3, False, "out\nerr\n")


def test_runs_in_the_folder_with_the_environment_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    assert sh("pwd; echo [$SECRET]", tmp_path)[2] == f"{tmp_path}\n[]\n"


def test_signal_has_no_code(tmp_path: Path) -> None:
    assert sh("kill -SEGV $$", tmp_path)[:2] == (None, False)


IN_A_GROUP_OF_ITS_OWN = f"{sys.executable} -c 'import os, time; os.setpgid(0, 0); time.sleep(60)'"


@pytest.mark.parametrize("child_command", ["sleep 60", "setsid sleep 60", IN_A_GROUP_OF_ITS_OWN])
def test_deadline_ends_the_whole_session(tmp_path: Path, child_command: str) -> None:
    started = time.monotonic()
    code, timed_out, output = sh(f"{child_command} & echo $! > child; echo begun; wait", tmp_path, 0.5)
    assert (code, timed_out, output) == (None, True, "begun\n")
    assert time.monotonic() - started < 5
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 5
    while Path(f"/proc/{child}/stat").exists() and Path(f"/proc/{child}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_flood_is_capped_and_does_not_block(tmp_path: Path) -> None:
    code, timed_out, output = sh("head -c 50000000 /dev/zero | tr '\\0' x", tmp_path, 60)
    assert (code, timed_out, len(output)) == (0, False, MAX_OUTPUT_BYTES)


def test_output_that_is_not_utf8_is_readable(tmp_path: Path) -> None:
    assert sh("printf 'a\\377b'", tmp_path)[2] == "a\ufffdb"


def test_child_that_keeps_the_pipe_open_does_not_hold_the_result(tmp_path: Path) -> None:
    started = time.monotonic()
    assert sh("sleep 8 & echo $! > child; echo done", tmp_path)[:2] == (0, False)
    assert time.monotonic() - started < 5
    os.kill(int((tmp_path / "child").read_text()), 9)


def test_missing_command_raises(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        PlainRunner().run(("/no/such/compiler",), tmp_path, ENV, 1)

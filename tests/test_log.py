"""The log: what -v shows of the judges, and the form of its lines."""

import json
import logging
import os
import re
import socket
import tempfile
import threading
import time
from pathlib import Path

import pytest

import pipeline
from command import exits
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.log import level_in_force, receive, show, waiting
from evaluator.machine.devices import choose_all
from evaluator.sandbox import Level, Zygote
from tests.command_line import Bench, submission

LINE = re.compile(r"\d\d:\d\d:\d\d\.\d (command|sandbox|judge \d+( \S+)?): .*")
CROWDED = "raise RuntimeError('CUDA out of memory\\x1b[31m')\n" + submission()


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what a test sets in `logging`."""
    monkeypatch.delenv("ASSAY_LOG", raising=False)
    monkeypatch.setattr(logging.getLogger("evaluator"), "level", logging.NOTSET)


@pytest.mark.slow(10)
def test_a_rerun_and_a_wait_in_a_judge_are_shown_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another judge has begun. Its evaluation ends a while after the submission ran out of memory beside it."""
    locks = tmp_path / "tmp"
    locks.mkdir(mode=0o1777)
    bench = Bench(tmp_path)
    bench.write("double/crowded.py", CROWDED)
    monkeypatch.setattr(tempfile, "tempdir", str(locks))
    other = DeviceLock(choose_all("cpu")[0][0].unique_id)
    other.acquire()
    other.release()
    with bench.start("double", "--jobs", "1", "--json", "-", "-vv", TMPDIR=str(locks)) as process:
        assert process.stdout is not None and process.stderr is not None
        stdout: list[str] = []
        reader = threading.Thread(target=lambda: stdout.extend(process.stdout or ()))
        reader.start()
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "judged again" in line:
                break
        time.sleep(4.0)  # of which the judge may spend some before it waits
        other.close()
        lines += process.stderr
        reader.join()
    assert [json.loads(line)["category"] for line in stdout] == ["python_exception"]
    shown = "".join(lines)
    assert "\x1b" not in shown
    assert any(LINE.match(line) for line in lines), shown
    judge = r"^[\d:.]+ judge 1 double/crowded\.py: "
    assert re.search(rf"{judge}judged again, alone on the device: out of memory beside another submission$", shown, re.M), shown
    assert re.search(rf"{judge}waited \d+\.\d s for the end of other evaluations on the device$", shown, re.M), shown
    assert re.search(rf"{judge}a worker failed the request \w+: RuntimeError: CUDA out of memory\\x1b\[31m$", shown, re.M), shown
    assert re.search(rf"{judge}stage load$", shown, re.M), shown


def test_a_level_that_there_is_not_is_refused_in_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_LOG", "loud")
    assert pipeline.main(["nowhere.py"]) == exits.USAGE
    assert capsys.readouterr().err == "pipeline.py: ASSAY_LOG must be one of warning, info, debug, not 'loud'\n"


@pytest.mark.parametrize(
    ("verbose", "named", "level"), [(0, "", 30), (1, "", 20), (2, "", 10), (0, "info", 20), (0, "DEBUG", 10), (1, "debug", 20)]
)
def test_the_option_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch, verbose: int, named: str, level: int) -> None:
    monkeypatch.setenv("ASSAY_LOG", named)
    show("command", verbose)
    assert level_in_force() == level


def test_a_wait_is_shown_while_it_lasts(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("evaluator.log.SHOWN_S", 600.0)
    with waiting("a lock that is free"):
        pass
    monkeypatch.setattr("evaluator.log.SHOWN_S", 0.2)
    monkeypatch.setattr("evaluator.log.LONG_S", 0.1)
    with waiting("the lock"):
        deadline = time.monotonic() + 300
        while not caplog.records and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
    shown = [re.sub(r"\d+\.\d s", "N s", record.getMessage()) for record in caplog.records]
    assert shown == ["waiting for the lock", "waited N s for the lock"]


def test_no_text_poses_as_a_line_of_its_own(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    show("command", 1)
    receive("judge 1 a\n\x1b.py", (logging.INFO, "evaluator.judge", 0.5, "first\n00:00:00.0 command: forged\r\x9b" + "x" * 30_000))
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.endswith("judge 1 a") and rest[0] == "    \\x1b.py: first"
    assert rest[1].startswith("    00:00:00.0 command: forged\\x0d\\x9bxxx") and len(rest) == 2


def test_the_log_of_the_sandbox_reaches_the_process_that_started_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Zygote.start(modules=(), level=Level.NONE) as zygote:
        no_request = os.memfd_create("empty")
        socket.send_fds(zygote.socket, [b"run"], [no_request] * 4)
        os.close(no_request)
        deadline = time.monotonic() + 300
        while not caplog.records and time.monotonic() < deadline:
            time.sleep(0.02)
    (record,) = caplog.records
    assert (record.levelname, record.origin) == ("ERROR", "sandbox")  # type: ignore[attr-defined]
    assert record.getMessage().startswith("a request could not be served\nTraceback")

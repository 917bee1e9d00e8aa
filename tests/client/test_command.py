"""`assay submit` and `assay submitted`, as commands, against a real service that judges on the CPU."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest
from assay_client.command import main

from tests.command_line import PROJECT, submission
from tests.web.service.process import Process

pytestmark = pytest.mark.slow(10)

COMMAND_S = 240


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Submissions to the problem double, which their folder names."""
    (tmp_path / "double").mkdir()
    (tmp_path / "double" / "wrong.py").write_text(submission("x + 3"), encoding="utf-8")
    (tmp_path / "double" / "answer.md").write_text(f"Here it is:\n\n```python\n{submission('x + x')}```\n", encoding="utf-8")
    return tmp_path


def variables_for(process: Process) -> dict[str, str]:
    """The environment of a command that finds the service."""
    return {"ASSAY_URL": process.address, "ASSAY_TOKEN": process.token, "PYTHONPATH": f"{PROJECT}{os.pathsep}{PROJECT / 'client'}"}


def assay(
    process: Process, *words: object, cwd: Path, stdout: IO[bytes] | int = subprocess.PIPE, **variables: str
) -> subprocess.CompletedProcess[str]:
    variables |= variables_for(process)
    command = [sys.executable, "-m", "assay", *map(str, words)]
    return subprocess.run(command, cwd=cwd, env=os.environ | variables, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=COMMAND_S)


def test_files_are_handed_in_followed_and_listed(process: Process, folder: Path) -> None:
    told = assay(process, "submit", "double/wrong.py", "double/answer.md", cwd=folder)
    assert told.returncode == 0, told.stderr
    rows = told.stdout.splitlines()
    assert "incorrect/wrong_values  double  double/wrong.py" in rows[0] and rows[1].startswith("    ")
    assert any("correct/no_custom_kernel" in row and row.endswith("double/answer.md") for row in rows)
    assert "1 of 2  double/wrong.py  " in told.stderr
    listed = assay(process, "submitted", "--top", 2, cwd=folder).stdout.splitlines()
    assert [row.rsplit("  ", 1)[1] for row in listed] == ["double/answer.md", "double/wrong.py"]
    records = [json.loads(line) for line in assay(process, "submitted", "--json", "--state", "done", cwd=folder).stdout.splitlines()]
    assert {"service/ada/double/wrong.py", "service/ada/double/answer.md"} <= {each["result"]["submission"] for each in records}


def test_a_profile_that_can_not_be_made_is_told_beside_the_verdict(process: Process, folder: Path) -> None:
    token = process.make_token("--author", "profiler", "--scope", "read,submit,profile")
    told = assay(process, "submit", "double/answer.md", "double/wrong.py", "--profile", "--token", token, cwd=folder)
    assert told.returncode == 0, told.stderr
    right, wrong = told.stdout.split("incorrect/wrong_values")
    assert "correct/no_custom_kernel" in right and "profile" not in wrong
    assert "    profile by Nsight Compute: nothing was profiled: it needs an NVIDIA GPU, and this was judged on the CPU" in right


def test_what_has_a_verdict_is_not_judged_again_unless_it_is_asked_for(process: Process, folder: Path) -> None:
    ids = [assay(process, "submit", "double/wrong.py", "--no-wait", *words, cwd=folder).stdout.strip() for words in ((), (), ("--again",))]
    assert ids[0] == ids[1] != ids[2] and len(ids[2]) == 32


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("submit", "none.py"), 2, "none.py: can't be read"),
        (("submit", "double"), 2, "is not one of .py, .md, .txt"),
        (("submit", "double/wrong.py", "--problem", "duoble"), 1, "nearest: double"),
        (("submit", "double/wrong.py", "--token", "assay_nonsense"), 1, "401 unauthorized"),
        (("submit", "double/wrong.py", "--timeout", "0"), 1, "timeout_s"),
        (("submit", "double/wrong.py", "--profile"), 1, "it needs the scope profile"),
        (("submit", "double/wrong.py", "--url", "http://[::1"), 2, "invalid address"),
        (("submit", "no\x1b[31mne.py"), 2, "no [31mne.py: can't be read"),
        (("submitted", "--problem", "duoble"), 2, "there is no problem 'duoble'; known: double"),
        (("submitted", "--top", "0"), 2, "at least 1"),
    ],
)
def test_what_can_not_be_handed_in_is_told(process: Process, folder: Path, words: tuple[str, ...], code: int, said: str) -> None:
    told = assay(process, *words, cwd=folder)
    assert (told.returncode, told.stdout) == (code, "") and said in told.stderr, told.stderr
    assert "Traceback" not in told.stderr


def test_a_file_that_is_refused_keeps_no_other_from_being_judged(process: Process, folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "x.py").write_text(submission("x + 3"), encoding="utf-8")
    (folder / "double" / "linked.py").symlink_to("../elsewhere/x.py")
    told = assay(process, "submit", "elsewhere/x.py", "double/linked.py", cwd=folder)
    assert told.returncode == 1
    assert told.stderr.startswith("elsewhere/x.py: nothing says which problem it answers")
    assert "incorrect/wrong_values  double  double/linked.py" in told.stdout
    ids = assay(process, "submit", "elsewhere/x.py", "double/linked.py", "--no-wait", cwd=folder)
    assert (ids.returncode, ids.stdout) == (1, told.stdout[:32] + "\n")


def test_a_terminal_that_lacks_a_letter_and_a_reader_that_leaves_are_no_failure(process: Process, folder: Path) -> None:
    (folder / "double" / "é日.py").write_text("x = 1\n", encoding="utf-8")
    told = assay(process, "submit", "double/é日.py", cwd=folder, PYTHONIOENCODING="ascii")
    assert told.returncode == 0 and r"double/\xe9\u65e5.py" in told.stdout, told.stderr
    read, write = os.pipe()
    os.close(read)
    with open(write, "wb") as gone:  # noqa: PTH123 - a descriptor
        told = assay(process, "submitted", cwd=folder, stdout=gone)
    assert (told.returncode, told.stderr) == (1, "")


def test_ctrl_c_says_what_becomes_of_what_was_handed_in(process: Process, folder: Path) -> None:
    (folder / "double" / "slow.py").write_text(submission(before="time.sleep(2)"), encoding="utf-8")
    read, write = os.pipe()
    command = [sys.executable, "-m", "assay", "submit", "double/slow.py"]
    with subprocess.Popen(command, cwd=folder, env=os.environ | variables_for(process), stderr=write) as waiting:
        os.close(write)
        with open(read, encoding="utf-8") as told:  # noqa: PTH123 - a descriptor
            assert told.readline().startswith("1 of 1  double/slow.py  ")
            waiting.send_signal(signal.SIGINT)
            last = told.read().splitlines()[-1]
    assert (waiting.returncode, last) == (130, "assay submit: Submitted files are still judged; `submitted` lists them.")


def nobody() -> str:
    """An address where no server listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{bound.getsockname()[1]}"


def test_where_nobody_listens_that_is_told_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = time.monotonic()
    assert main(["submit", str(folder / "double" / "wrong.py"), "--url", nobody(), "--token", "x"]) == 1
    assert main(["submitted", "--url", nobody(), "--token", "x"]) == 1
    assert time.monotonic() - start < 5
    said = capsys.readouterr().err
    assert said.count("no service listens at http://127.0.0.1:") == 2 and "assay service" in said


def test_a_file_of_options_holds_here_too(folder: Path) -> None:
    (folder / "assay.toml").write_text(f'[submitted]\nurl = "{nobody()}"\ntoken = "x"\n', encoding="utf-8")
    variables = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    variables["PYTHONPATH"] = f"{PROJECT}{os.pathsep}{PROJECT / 'client'}"
    command = [sys.executable, "-m", "assay", "submitted"]
    told = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=COMMAND_S)
    assert told.returncode == 1 and "no service listens at http://127.0.0.1:" in told.stderr, told.stderr

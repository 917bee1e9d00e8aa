"""The table at the end of a run."""

import os
import subprocess
import sys
import time

import pytest

from command.display import Display
from evaluator.job import Job
from evaluator.results.category import Category
from evaluator.results.evidence import ConditionsEvidence, Evidence
from tests.command_line import PROJECT
from tests.db.samples import full_evidence, result
from tests.screens import WIDTHS, assert_fits


def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, evidence: Evidence) -> str:
    monkeypatch.setenv("COLUMNS", "200")
    display = Display(to_stderr=False)
    display.result(7, result(speedup=2.0, evidence=evidence))
    display.summary(0, "assay.db", "--run 1")
    return capsys.readouterr().out


def test_a_share_of_the_speed_of_light_stands_beside_the_speedup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calm = full_evidence().model_copy(update={"conditions": ConditionsEvidence(shared=False, throttled="")})
    text = shown(capsys, monkeypatch, calm)
    assert "2.00× " in text and "25.0 % (12.5 %)" in text
    assert "×*" not in text and text.count("#7") == 1, "its own line, and no remark"


def test_disturbed_times_are_marked_and_the_reason_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(capsys, monkeypatch, full_evidence())
    assert "2.00×*" in text
    assert "* others' processes were on the device and its clock was lowered (hw_thermal_slowdown), in a second timing too" in text


def test_without_evidence_the_column_is_empty(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(capsys, monkeypatch, Evidence())
    assert "2.00×" in text and "%" not in text


def test_progress_that_nobody_reads_takes_nothing_from_standard_output() -> None:
    program = (
        "import time\nfrom command import display\nfrom evaluator.results.display import progress\nprogress.PIPED_EVERY_S = 0.05\n"
        "with display.Display(to_stderr=True).progress(3):\n    time.sleep(0.5)\n    print('a record', flush=True)\n"
    )
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, stdout=subprocess.PIPE, stderr=writing, text=True, timeout=300)
    os.close(writing)
    assert done.stdout == "a record\n"


def test_piped_progress_tells_what_is_done(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.results.display.progress.PIPED_EVERY_S", 0.05)
    display = Display(to_stderr=False)
    with display.progress(3):
        display.read(3, due=1)
        display.skip(2)
        told, deadline = "", time.monotonic() + 120
        while "2 of 3 done" not in told:
            assert time.monotonic() < deadline, told
            time.sleep(0.05)
            told += capsys.readouterr().err


def test_progress_names_a_file_by_its_folder_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.results.display.progress.PIPED_EVERY_S", 0.05)
    display = Display(to_stderr=False)
    with display.progress(28):
        display.stage(Job("ada/softmax/1.py", None, "ada", None, "", "", "softmax", PROJECT, None, "", 60.0), "build")
        told, deadline = "", time.monotonic() + 120
        while "0 of 28 done; ada/softmax/1.py: build" not in told:
            assert time.monotonic() < deadline, told
            time.sleep(0.05)
            told += capsys.readouterr().err


LONG = "runs/a_model_of_a_long_name/bias_residual_relu/sample_{}/kernel.py"
COLUMNS = ["submission", "problem", "status", "category", "time", "baseline", "speedup", "95 % interval", "of light (baseline)"]


def full_run(to_stderr: bool = False) -> Display:
    """A display of a run with right and wrong submissions of long names."""
    display = Display(to_stderr=to_stderr)
    for number in range(1, 4):
        told = full_evidence()
        display.result(
            number, result(speedup=2.0, submission=LONG.format(number), problem="bias_residual_relu_with_dropout", evidence=told)
        )
        wrong = result(
            Category.ILLEGAL_MEMORY_ACCESS, submission=LONG.format(number + 5), message="a kernel read beyond x", hint="never shown"
        )
        display.result(number + 5, wrong)
    return display


@pytest.mark.parametrize("width", WIDTHS)
def test_the_summary_fits(width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    display = full_run()
    capsys.readouterr()
    display.summary(0, "assay.db", "--run 1")
    rows = assert_fits(capsys.readouterr().out.replace("#", "\n#", 1), width, COLUMNS, ["submission", "category"])
    assert len(set(rows)) == len(rows)


def test_rows_are_in_the_order_of_people(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    display = Display(to_stderr=False)
    for number, name in enumerate(["10_add.py", "9_add.py", "add.py", "9_add_2.py"]):
        display.result(number, result(submission=name))
    capsys.readouterr()
    display.summary(0, "assay.db", "--run 1")
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.split()[0:1] and ".py" in line.split()[0]]
    assert rows[:4] == ["9_add.py", "9_add_2.py", "10_add.py", "add.py"]


def test_each_result_is_a_line_with_its_message_as_it_comes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    full_run()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"#1 correct/ok {LONG.format(1)} 2.00×*: as observed"
    assert lines[1] == f"#6 run_failed/illegal_memory_access {LONG.format(6)}: a kernel read beyond x"
    assert len(lines) == 6


def test_what_to_do_stands_once_for_each_category(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    display = full_run()
    display.summary(0, "assay.db", "--run 12 --db sqlite:///other.db")
    text = capsys.readouterr().out
    hint = "Check every index against the tensor's size"
    assert text.count(hint) == 1 and f"illegal_memory_access (3): {hint}" in text
    assert "assay list --category illegal_memory_access --run 12 --db sqlite:///other.db\n" in text
    assert text.index("What to do") > text.index("of light (baseline)") and "ok (3)" not in text

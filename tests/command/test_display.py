"""The table at the end of a run."""

import os
import subprocess
import sys
import time

import pytest

from command.display import Display
from db.queries.runs import EvaluationSummary
from evaluator.job import Job
from evaluator.results.category import Category
from evaluator.results.evidence import ConditionsEvidence, Evidence
from evaluator.results.result import now
from tests.command_line import PROJECT
from tests.db.samples import full_evidence, result
from tests.screens import WIDTHS, assert_fits

pytestmark = pytest.mark.slow(2)


def skipped(number: int, category: Category = Category.OK, author: str | None = None, speedup: float | None = None) -> EvaluationSummary:
    """An evaluation of an earlier run."""
    named = (f"{number}.py", None, author, "softmax", "full", "NVIDIA H200")
    return EvaluationSummary(number, 1, now(), *named, category.status, category, speedup)


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
    assert text.count("2.00×*") == 2
    assert "2.00×*: as observed; others' processes were on the device and its clock was lowered (hw_thermal_slowdown)" in text


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
        display.skip([skipped(1), skipped(2)])
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
    monkeypatch.setenv("LINES", "100")
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
    assert lines[0].startswith(f"#1 correct/ok {LONG.format(1)} 2.00×*: as observed; others")
    assert lines[1] == f"#6 run_failed/illegal_memory_access {LONG.format(6)}: a kernel read beyond x"
    assert len(lines) == 6


def ending(capsys: pytest.CaptureFixture[str], display: Display, skipped: int = 0) -> list[str]:
    """The lines of the end."""
    capsys.readouterr()
    display.summary(skipped, "assay.db", "--run 12 --db other.db")
    return capsys.readouterr().out.splitlines()


def test_the_end_has_the_commonest_causes_and_says_where_the_rest_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = ending(capsys, full_run())
    (place,) = (place for place, line in enumerate(lines) if line.startswith("6 evaluated: 3 correct, 3 run_failed; stored in assay.db"))
    header, figures, hint, listed = lines[place + 1 :]
    assert header.split("  ")[0] == "passed"
    assert figures.split() == ["3", "of", "6", "(50.0%)", "50.0%", "2.00×", "3", "illegal_memory_access"]
    assert hint.startswith("illegal_memory_access (3): Check every index against the tensor's size")
    assert listed.startswith("All of this run: ") and "assay list --run 12 --db other.db --limit 6; of one cause: --category " in listed


def test_five_hundred_failures_end_in_a_few_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINES", "40")
    display, causes = (
        Display(to_stderr=False),
        (Category.SYNTAX_ERROR, Category.NO_CODE_BLOCK, Category.TOO_LARGE, Category.UNKNOWN_PROBLEM),
    )
    for number in range(500):
        display.result(number, result(causes[number % 7 % 4], submission=f"{number}.py"))
    lines = ending(capsys, display)
    assert [line.split("  ")[0].split(" ")[0] for line in lines] == [
        *("", "500", "passed", "0"),
        *("no_code_block", "syntax_error", "too_large", "All"),
    ]


def test_the_table_is_shown_where_all_fits_the_screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert len(ending(capsys, full_run())) == 14, "six rows in 25 lines"
    for lines, rows in (("14", 6), ("13", 0)):
        monkeypatch.setenv("LINES", lines)
        assert sum("sample_" in line for line in ending(capsys, full_run())) == rows


def test_authors_are_compared_over_all_evaluations_that_hold(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also over those of earlier runs. What could not be evaluated counts against nobody, and only `ok` passes."""
    monkeypatch.setenv("COLUMNS", "200")
    display = Display(to_stderr=False)
    for number, category in enumerate([Category.TIMEOUT, Category.NO_DEVICE, Category.NO_CUSTOM_KERNEL]):
        display.result(number, result(category, author="ada", submission=f"ada/{number}.py"))
    display.skip([skipped(7, Category.OK, "bob", 0.9), skipped(8, Category.OK, "bob", 3.0), skipped(9, Category.OK, "ada", 1.5)])
    lines = ending(capsys, display, 3)
    place = next(place for place, line in enumerate(lines) if line.startswith("author"))
    assert lines[place - 1].startswith("6 in all, 3 already judged and skipped")
    assert [line.split() for line in lines[place + 1 : place + 4]] == [
        ["bob", "2", "of", "2", "(100.0%)", "50.0%", "3.00×"],
        ["ada", "1", "of", "3", "(33.3%)", "33.3%", "1.50×", "1", "no_custom_kernel,", "1", "timeout"],
        ["all", "3", "of", "5", "(60.0%)", "40.0%", "3.00×", "1", "no_custom_kernel,", "1", "timeout"],
    ]


def test_one_result_has_no_figures(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display(to_stderr=False)
    display.result(1, result(Category.TIMEOUT))
    assert [line.split(":")[0] for line in ending(capsys, display)[-2:]] == ["1 evaluated", "timeout (1)"]

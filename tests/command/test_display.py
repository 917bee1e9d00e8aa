"""The table at the end of a run."""

import os
import subprocess
import sys
import time

import pytest

from command.display import Display
from evaluator.results.evidence import ConditionsEvidence, Evidence
from tests.command_line import PROJECT
from tests.db.samples import full_evidence, result


def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, evidence: Evidence) -> str:
    monkeypatch.setenv("COLUMNS", "200")
    display = Display(to_stderr=False)
    display.result(7, result(speedup=2.0, evidence=evidence))
    display.summary(0, "assay.db")
    return capsys.readouterr().out


def test_a_share_of_the_speed_of_light_stands_beside_the_speedup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calm = full_evidence().model_copy(update={"conditions": ConditionsEvidence(shared=False, throttled="")})
    text = shown(capsys, monkeypatch, calm)
    assert "2.00× " in text and "25.0 % (12.5 %)" in text
    assert "×*" not in text and text.count("#7") == 1, "its message, and no remark"


def test_disturbed_times_are_marked_and_the_reason_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(capsys, monkeypatch, full_evidence())
    assert "2.00×*" in text
    assert "* others' processes were on the device and its clock was lowered (hw_thermal_slowdown), in a second timing too" in text


def test_without_evidence_the_column_is_empty(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(capsys, monkeypatch, Evidence())
    assert "2.00×" in text and "%" not in text


def test_progress_that_nobody_reads_takes_nothing_from_standard_output() -> None:
    program = (
        "import time\nfrom command import display\ndisplay.PIPED_EVERY_S = 0.05\n"
        "with display.Display(to_stderr=True).progress(3):\n    time.sleep(0.5)\n    print('a record', flush=True)\n"
    )
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, stdout=subprocess.PIPE, stderr=writing, text=True, timeout=60)
    os.close(writing)
    assert done.stdout == "a record\n"


def test_piped_progress_tells_what_is_done(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("command.display.PIPED_EVERY_S", 0.05)
    display = Display(to_stderr=False)
    with display.progress(3):
        display.skip(2)
        time.sleep(0.4)
    assert "2 of 3 done" in capsys.readouterr().out

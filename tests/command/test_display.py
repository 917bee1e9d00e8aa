"""The table at the end of a run."""

import pytest

from command.display import Display
from evaluator.results.evidence import ConditionsEvidence, Evidence
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

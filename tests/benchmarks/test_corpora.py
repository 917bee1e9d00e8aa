"""benchmarks.corpora judges real submissions, and keeps what benchmarks.checks reads."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import corpora
from benchmarks.checks import read
from benchmarks.corpora import CORPORA, Corpus, differences
from tests.corpus import Entry
from tests.diagnosis.fault import FAULTS

pytestmark = pytest.mark.slow(15)

NAME = "sorting_a_list.py"


def test_a_corpus_is_judged_compared_and_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    only_one = Corpus({NAME: FAULTS[NAME]}, CORPORA["diagnosis"].judged)
    monkeypatch.setattr(corpora, "CORPORA", {"one": only_one, "unfair": replace(only_one, entries={NAME: _unfair()})})
    monkeypatch.setattr(sys, "argv", ["corpora", "cpu", "--export", str(tmp_path)])
    assert corpora.main() == 1
    shown = capsys.readouterr().out
    assert shown.count(f"{NAME}: ") == 1
    assert shown.startswith("one: 1 of 1 as expected, ") and "unfair: 0 of 1 as expected, " in shown
    for name in ("one", "unfair"):
        assert [f"{each.name}.py" for each in read(tmp_path / f"{name}.json")] == [NAME]


def test_a_line_that_is_not_the_marked_one_is_a_difference() -> None:
    entry = next(fault for fault in FAULTS.values() if fault.lines and "cpu" in fault.verdicts)
    (verdict,) = entry.verdicts["cpu"]
    status, _, category = verdict.partition("/")
    record = {"status": status, "category": category, "message": " ".join(entry.header["says"]), "hint": "", "feedback": ""}
    corpus = Corpus({entry.name: entry}, CORPORA["diagnosis"].judged)
    assert list(differences(corpus, {entry.name: {**record, "line": entry.lines[0]}}, "cpu")) == []
    (said,) = differences(corpus, {entry.name: {**record, "line": entry.lines[0] + 1}}, "cpu")
    assert said.startswith(f"{entry.name}: line {entry.lines[0] + 1}, not {entry.lines[0]}")


def _unfair() -> Entry:
    return replace(FAULTS[NAME], header={**FAULTS[NAME].header, "expect": ("correct/ok",)})

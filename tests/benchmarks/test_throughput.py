"""The throughput benchmark: its samples, its scaling and its tables."""

import io
import itertools
import json
import math
import statistics
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks import tables, variants
from benchmarks.measuring import scaled
from benchmarks.stock_protocol import Subject
from benchmarks.throughput import drawn, main, subjects_of
from tests.shipped import FOLDER

pytestmark = pytest.mark.nightly

SUBJECTS = [Subject(str(number), "", Path("problem.py"), {}) for number in range(20)]


def test_a_draw_is_part_of_one_random_order() -> None:
    whole = drawn(SUBJECTS, None)
    assert sorted(number for number, _ in whole) == list(range(20))
    assert all(SUBJECTS[number] is subject for number, subject in whole)
    assert [number for number, _ in whole] != list(range(20))
    assert drawn(SUBJECTS, 6) == whole[:6]


def test_a_sample_is_scaled_with_the_error_that_it_has_over_all_samples() -> None:
    times_s = [1.0, 2.0, 4.0, 8.0, 9.0]
    samples = [scaled(sample, 5) for sample in itertools.combinations(times_s, 2)]
    assert statistics.fmean(each.total_s for each in samples) == pytest.approx(sum(times_s))
    spread = statistics.pvariance([each.total_s for each in samples])
    assert statistics.fmean((each.error_s or math.nan) ** 2 for each in samples) == pytest.approx(spread)
    assert scaled(times_s, 5).error_s == 0
    assert scaled([3.0], 5).total_s == 15
    assert scaled([3.0], 5).error_s is None


def test_subjects_are_what_the_command_line_would_judge() -> None:
    found = subjects_of([FOLDER / "softmax", FOLDER / "responses"], "cpu")
    labels = [subject.label for subject in found]
    assert any(label.endswith("softmax/online.py") for label in labels)
    assert any(label.endswith("softmax_three_tries.txt [3]") for label in labels)
    assert not any("syntax_error" in label or "cut_off" in label for label in labels)
    softmax = next(subject for subject in found if subject.label.endswith("softmax/online.py"))
    assert softmax.constants == {"batch_size": 17, "dim": 1021}
    assert softmax.problem_path.name == "softmax.py"


def part(**changes: Any) -> dict[str, Any]:
    evaluations = [{"submission": "a.py", "block": 2, "verdict": "correct/ok", "duration_s": 3.0}]
    run = {"wall_s": 4.0, "complete": True, "judged": 1, "devices": ["cuda:0"], "evaluations": evaluations}
    stock = {"label": "a.py [2]", "verdict": "correct", "message": "", "wall_s": 60.0}
    total = {"total_s": 60.0, "error_s": 0.0, "measured": 1, "of": 1}
    return {"submissions": 1, "ours cold": run, "stock cold": [stock], "stock cold scaled": total} | changes


def text(report: dict[str, Any]) -> str:
    console = Console(file=io.StringIO(), width=200)
    for table in tables.of_report(report):
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_ratio_is_of_the_whole_and_only_of_a_whole() -> None:
    assert tables.ratio(part(), "cold") == 15
    assert tables.ratio(part(), "warm") is None
    assert tables.ratio(part(**{"ours cold": part()["ours cold"] | {"complete": False}}), "cold") is None


def test_tables_tell_the_ratio_and_both_verdicts() -> None:
    told = text({"machine": {"kind": "cuda"}, "parts": {"seeds": part()}})
    for fact in ("15.00", "8 times, under 60 s", "yardstick cold", "a.py [2]", "correct/ok"):
        assert fact in told, fact


def test_tables_of_the_yardstick_alone_and_of_a_run_that_was_cut_short_are_no_error() -> None:
    alone = part()
    cut = {"submissions": 1, "ours cold": alone.pop("ours cold") | {"complete": False, "judged": 0, "evaluations": []}}
    told = text({"machine": {"kind": "cpu"}, "parts": {"variants": alone}})
    assert "yardstick cold" in told and "ours cold" not in told
    assert "0 at the time limit" in text({"machine": {"kind": "cpu"}, "parts": {"variants": cut}})


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--part", "seeds"], "--responses"),
        (["--part", "devices", "--device", "cpu"], "2 GPUs"),
    ],
)
def test_what_cannot_be_measured_is_refused_at_once(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert main(arguments) == 2
    assert reason in " ".join(capsys.readouterr().err.split())


@pytest.mark.build
def test_a_part_measures_both_and_writes_it_all_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    right = [origin for origin in variants.origins("cpp") if origin.label == "gelu_tanh/cpp_parallel"]
    monkeypatch.setattr(variants, "origins", lambda *_: right)
    target = tmp_path / "report.json"
    assert main(["--part", "variants", "--variants", "1", "--device", "cpu", "--json", str(target)]) == 0
    report = json.loads(target.read_text())
    found = report["parts"]["variants"]
    assert found["submissions"] == len(found["stock cold"]) == found["ours cold"]["judged"] == found["ours warm"]["judged"] == 1
    assert found["ours warm"]["wall_s"] < found["ours cold"]["wall_s"]
    assert found["ours warm"]["categories"] == found["ours cold"]["categories"]
    assert (
        found["ours cold"]["evaluations"][0]["submission"] == found["stock cold"][0]["label"] == "variants/gelu_tanh/cpp_parallel_v000.py"
    )
    assert (found["ours cold"]["categories"], found["stock cold"][0]["verdict"]) == ({"correct/ok": 1}, "correct")
    assert found["stock cold scaled"]["total_s"] == pytest.approx(found["stock cold"][0]["wall_s"])
    assert report["machine"]["cores"] >= 1

"""Results: which records are possible, and what of them is stored."""

import json
import math
from datetime import UTC, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from evaluator.results.category import CATEGORIES, Category, Status
from evaluator.results.evidence import ErrorFigures, Evidence, RoundEvidence
from evaluator.results.result import Result, now

TIMES = {"runtime_ms": 1.0, "baseline_ms": 2.0, "speedup": 2.0}


def result(category: Category = Category.WRONG_VALUES, **more: Any) -> Result:
    fields = {
        "submission": "a.py",
        "status": CATEGORIES[category].status,
        "category": category,
        "message": "",
        "source_sha256": "0" * 64,
        "started_at": now(),
        "duration_s": 0.5,
    }
    return Result(**{**fields, **more})


@pytest.mark.parametrize("category", Category)
def test_a_category_has_one_status(category: Category) -> None:
    times = TIMES if category is Category.OK else {}
    assert result(category, **times).status is category.status
    for status in set(Status) - {category.status}:
        with pytest.raises(ValidationError, match="belongs to status"):
            result(category, status=status)


@pytest.mark.parametrize("category", [category for category in Category if category.status is not Status.CORRECT])
def test_what_is_not_correct_has_no_times(category: Category) -> None:
    with pytest.raises(ValidationError, match="has no times"):
        result(category, **TIMES)


@pytest.mark.parametrize("missing", TIMES)
def test_times_come_together(missing: str) -> None:
    with pytest.raises(ValidationError, match="together"):
        result(Category.OK, **{name: value for name, value in TIMES.items() if name != missing})
    with pytest.raises(ValidationError, match="together"):
        result(Category.NO_CUSTOM_KERNEL, **{missing: 1.0})


def test_ok_needs_its_times_and_a_library_answer_does_not() -> None:
    with pytest.raises(ValidationError, match="needs its times"):
        result(Category.OK)
    assert result(Category.NO_CUSTOM_KERNEL).speedup is None


def test_records_do_not_change_and_have_no_other_fields() -> None:
    with pytest.raises(ValidationError):
        result(unknown=1)
    with pytest.raises(ValidationError):
        result().message = "other"


def test_a_record_goes_through_json_unchanged() -> None:
    figures = ErrorFigures(
        output="[0]",
        elements=4,
        wrong=1,
        max_error=math.inf,
        rms_error=0.5,
        tolerance=4e-5,
        reference_error=0.0,
        first_index=(0, 3),
        first_value=math.nan,
        first_expected=-math.inf,
        nonfinite_mismatch=1,
    )
    round_ = RoundEvidence(index=0, seed=2**48 - 1, passed=False, category=Category.NAN_OR_INF, outputs=(figures,))
    whole = result(Category.NAN_OR_INF, evidence=Evidence(rounds=(round_,), stdout="\x1b é 😀\0"))
    text = whole.model_dump_json()

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    json.loads(text, parse_constant=refuse)
    back = Result.model_validate_json(text)
    assert back.model_dump_json() == text
    assert math.isnan(back.evidence.rounds[0].outputs[0].first_value or 0.0)
    assert back.evidence.stdout == "\x1b é 😀\0"


def test_the_summary_is_the_line_of_json() -> None:
    summary = result(Category.OK, **TIMES).summary()
    contract = "submission block author problem case device status category message hint"
    figures = "runtime_ms baseline_ms speedup source_sha256 started_at duration_s"
    assert {*contract.split(), *figures.split()} <= set(summary)
    assert {"evidence", "environment"}.isdisjoint(summary)
    assert json.loads(json.dumps(summary)) == summary


def test_now_is_utc_to_the_millisecond() -> None:
    moment = now()
    assert moment.tzinfo is UTC
    assert moment.utcoffset() == timedelta(0)
    assert moment.microsecond % 1000 == 0


def test_a_result_shows_itself_in_a_line_and_in_a_notebook() -> None:
    right = result(Category.OK, submission="a<b>.py", runtime_ms=0.5, baseline_ms=1.0, speedup=2.0)
    assert repr(right) == str(right) == "<Result 'a<b>.py': correct/ok, 2.00×>"
    assert "\n" not in repr(result(submission="a\n.py"))
    assert repr(result(submission="c.py")) == "<Result 'c.py': incorrect/wrong_values>"
    shown = right._repr_html_()
    assert all(cell in shown for cell in ("<td>a&lt;b&gt;.py</td>", "<td>0.5 ms</td>", "<td>2.00×</td>"))
    assert "speedup" not in result()._repr_html_()

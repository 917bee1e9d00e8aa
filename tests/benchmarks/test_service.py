"""The benchmark of the service, with few submissions: nothing is lost and nothing judged twice, whatever is killed."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks import service
from evaluator.results.category import Category
from evaluator.submission.extract import of_text

pytestmark = pytest.mark.nightly


def test_the_load_is_distinct_and_each_kind_is_read_as_it_is_meant() -> None:
    items = service.load(400, 0.5, list(service.HONEST))
    assert len({item.source for item in items}) == 400
    assert {item.kind for item in items} == {*service.HONEST, *service.HOSTILE}
    for item in items:
        rejection = of_text("x", item.source, False, "double", "ada", None).rejection
        if item.hostile:
            assert rejection is None, item.source
        elif rejection is not None:
            assert {rejection.category} == service.HONEST[item.kind][0]
        else:
            assert not service.HONEST[item.kind][0] & {Category.SYNTAX_ERROR, Category.MISSING_MODEL_NEW}


def test_under_load_with_all_that_is_killed_every_submission_has_one_right_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "BEGIN_WITHIN_S", 0.2)
    kinds = [kind for kind in service.HONEST if kind != "right"]
    items = [
        *service.load(20, 0.0, kinds),
        *(service.Item(20 + n, k, True, service.HOSTILE[k]) for n, k in enumerate(("leaves", "crashes"))),
    ]
    figures = service.measure(tmp_path, items, 6, True)
    assert figures.faults == []
    assert sum(figures.categories.values()) == len(figures.accept_s) == 22
    assert len(figures.kills) == 4 and not any("not found" in kill for kill in figures.kills)
    assert Counter(figures.categories)["infrastructure_error"] == 0

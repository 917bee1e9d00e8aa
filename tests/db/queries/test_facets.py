"""Facets: each number is that of the evaluations which the choice then leaves."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from db.queries.evaluations import Choice
from db.queries.facets import failure_facets
from db.queries.filters import Filters
from db.queries.leaderboard import failures
from db.queries.timeline import Timeline
from db.store import Store
from evaluator.results.category import CATEGORIES, Category, Status
from tests.db.conftest import BOTH
from tests.db.samples import SOURCE, environment, result

pytestmark = pytest.mark.slow(4)

OF_NAMES = {
    "problem": ("softmax", "gelu"),
    "device": ("NVIDIA H200", "CPU"),
    "author": ("ada", "bob"),
    "case": ("full", "small"),
    "precision": ("own", "float16"),
}
GIVEN = (
    Choice(),
    Choice(Filters(problem="softmax")),
    Choice(Filters(device="CPU", author="ada")),
    Choice(Filters(author="bob", case="full"), status=Status.RUN_FAILED),
    Choice(category=Category.TIMEOUT, run_id=1),
    Choice(Filters(problem="no such problem")),
    Choice(Filters(author="no such author")),
)


@pytest.fixture
def filled(store: Store) -> Store:
    """Evaluations on many boards, some of which failed before their device, case and precision were known."""
    kinds = (Category.OK, Category.TIMEOUT, Category.SYNTAX_ERROR, Category.WRONG_VALUES)
    names = product(OF_NAMES["problem"], OF_NAMES["device"], OF_NAMES["author"])
    # Each submission is judged twice: the first evaluation is history.
    for number, ((problem, device, author), category) in enumerate(2 * list(product(names, kinds))):
        if number % 20 == 0:
            store.start_run(["pipeline.py"])
        told: dict[str, Any] = {"problem": problem, "author": author, "submission": f"{number % 32}.py"}
        if category.status is not Status.REJECTED:
            told |= {"environment": environment(device), "case": OF_NAMES["case"][number % 2]}
            told["precision"] = OF_NAMES["precision"][number % 3 == 0]
        store.save(result(category, **told), SOURCE)
    return store


@BOTH
def test_numbers_of_the_list_are_those_of_its_pages(filled: Store) -> None:
    timeline = Timeline(filled)
    for choice in GIVEN:
        facets = timeline.facets(choice)
        for name, values in OF_NAMES.items():
            for value in values:
                left = timeline.page(replace(choice, filters=replace(choice.filters, **{name: value})), 0)[0]
                assert facets[name].get(value, 0) == left, (choice, name, value)
        for status in Status:
            assert facets["status"].get(status, 0) == timeline.page(replace(choice, status=status), 0)[0], (choice, status)
        for category in CATEGORIES:
            assert facets["category"].get(category, 0) == timeline.page(replace(choice, category=category), 0)[0], (choice, category)
    assert timeline.facets(Choice(Filters(problem="softmax")))["category"]["timeout"] > 0


@BOTH
def test_numbers_of_failures_are_those_of_their_pages(filled: Store) -> None:
    for filters in (choice.filters for choice in GIVEN):
        facets = failure_facets(filled, filters)
        for name, values in OF_NAMES.items():
            for value in values:
                assert facets[name].get(value, 0) == failures(filled, replace(filters, **{name: value})).evaluations, (filters, name, value)
    assert sum(failure_facets(filled)["author"].values()) < Timeline(filled).page(Choice(), 0)[0], "history is left out"

"""Derived tables follow from the evaluations, in whatever order these come."""

import random

import pytest

from db.store import Entry, Store
from db.upkeep import check
from evaluator.results.category import Category
from tests.db.samples import PROBLEM_SOURCE, environment, result

CATEGORIES = [
    *(Category.OK, Category.OK, Category.OK, Category.TIMEOUT, Category.SYNTAX_ERROR, Category.NO_CODE_BLOCK, Category.UNKNOWN_PROBLEM),
    *(Category.INTERRUPTED, Category.NO_DEVICE, Category.NO_CUSTOM_KERNEL),
]


def drawn(draw: random.Random) -> Entry:
    """A result of one of few submissions, with one of few sources, so that much of it meets again."""
    category = draw.choice(CATEGORIES)
    source = f"source {draw.randrange(3)}"
    changes: dict[str, object] = {
        "submission": f"s{draw.randrange(4)}",
        "block": draw.choice([None, 1, 2]),
        "author": draw.choice([None, "ada", "bob"]),
        "sample_id": draw.choice([None, 7]),
    }
    if category.status == "rejected":
        changes["problem"] = None if category is Category.UNKNOWN_PROBLEM else draw.choice([None, "softmax"])
    else:
        changes |= {"problem": draw.choice(["softmax", "gelu"]), "case": draw.choice(["full", "small"])}
        changes |= {"environment": environment(draw.choice(["A", "B"])), "precision": draw.choice([None, "own", "float16"])}
    if category is Category.NO_DEVICE:
        changes |= {"environment": None, "case": draw.choice([None, "full"])}
    if category is Category.OK:
        changes["speedup"] = draw.choice([0.5, 1.0, 2.0])
    return Entry(result(category, source, **changes), source, PROBLEM_SOURCE)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(5))
def test_flags_standings_and_tallies_follow_from_the_evaluations(store: Store, seed: int) -> None:
    draw = random.Random(seed)
    for step in range(12):
        items = [drawn(draw) for _ in range(draw.choice([1, 1, 2, 12]))]
        store.save_all(items)
        assert check(store) == [], step


def test_a_batch_comes_to_the_same_as_one_by_one(sqlite_store: Store, tmp_path: object) -> None:
    draw = random.Random(9)
    items = [drawn(draw) for _ in range(60)]
    with Store.open(f"sqlite:///{tmp_path}/other.db") as other:
        numbers = [other.save(item.result, item.source, item.problem_source) for item in items]
        assert sqlite_store.save_all(items) == numbers
        assert [item.result for item in sqlite_store.each()] == [item.result for item in other.each()]
        columns = ("id", "is_current", "is_ranked", "speedup")
        assert list(sqlite_store.summaries(columns)) == list(other.summaries(columns))

"""Authors over all problems, two authors against each other, and a submission's past: examples worked out by hand."""

import math
from typing import Any

import pytest

from db.compare import compare
from db.error import StoreError
from db.history import history
from db.leaderboard import CategoryCount
from db.overall import OverallRow, overall
from db.statistics import FAILURE_SPEEDUP
from db.store import Store
from evaluator.category import Category, Status
from tests.db.samples import environment, result, sha256


def save(store: Store, author: str | None, problem: str, name: str, category: Category = Category.OK, **changes: Any) -> int:
    source = f"{author} {problem} {name}"
    saved = result(category, source, submission=f"{author}/{problem}/{name}", author=author, problem=problem, **changes)
    return store.save(saved, source)


def example(store: Store) -> None:
    """Three problems. Ada solves two and fails one; Bob solves two, with two samples each; Cy only has text without code."""
    save(store, "ada", "p1", "1", speedup=2.0)
    save(store, "ada", "p2", "1", speedup=0.75)
    save(store, "ada", "p3", "1", Category.WRONG_VALUES)
    save(store, "bob", "p1", "1", speedup=4.0)
    save(store, "bob", "p1", "2", Category.CONST_POINTER)
    save(store, "bob", "p2", "1", Category.NO_CODE_BLOCK)
    save(store, "bob", "p2", "2", speedup=0.5)
    save(store, "bob", "p2", "3", Category.INFRASTRUCTURE_ERROR)
    save(store, "cy", "p1", "1", Category.NO_CODE_BLOCK)


def rows(store: Store, **filters: str) -> dict[str | None, OverallRow]:
    (board,) = overall(store, **filters)
    return {row.author: row for row in board.rows}


def test_a_worked_example(store: Store) -> None:
    example(store)
    (board,) = overall(store)
    assert (board.case, board.device_name, board.tasks) == ("full", "NVIDIA H200", 3)
    found = rows(store)
    ada, bob, cy = found["ada"], found["bob"], found["cy"]

    assert (ada.attempted, ada.samples, ada.solved) == (3, 3, 2)
    assert ada.fast == pytest.approx({0.0: 2 / 3, 0.5: 2 / 3, 0.8: 1 / 3, 1.0: 1 / 3, 1.5: 1 / 3, 2.0: 0})
    assert ada.geometric_mean == pytest.approx((2.0 * 0.75 * FAILURE_SPEEDUP) ** (1 / 3))
    assert ada.pass_at == pytest.approx({1: 2 / 3})
    assert ada.medals == (1, 1, 0)

    # One of two samples is right for p1 and for p2; p3 was not tried. What was not evaluated is no sample.
    assert (bob.attempted, bob.samples, bob.solved) == (2, 4, 2)
    assert bob.fast == pytest.approx({0.0: 2 / 3, 0.5: 1 / 3, 0.8: 1 / 3, 1.0: 1 / 3, 1.5: 1 / 3, 2.0: 1 / 3})
    assert bob.geometric_mean == pytest.approx((4.0 * 0.5 * FAILURE_SPEEDUP) ** (1 / 3))
    assert bob.pass_at == pytest.approx({1: 0.5})
    assert bob.medals == (1, 1, 0)
    assert bob.failures.counts == (
        CategoryCount(Status.BUILD_FAILED, Category.CONST_POINTER, 1),
        CategoryCount(Status.NOT_EVALUATED, Category.INFRASTRUCTURE_ERROR, 1),
        CategoryCount(Status.REJECTED, Category.NO_CODE_BLOCK, 1),
    )

    assert (cy.attempted, cy.samples, cy.solved, cy.medals) == (1, 1, 0, (0, 0, 0))
    assert cy.geometric_mean == pytest.approx(FAILURE_SPEEDUP)
    assert [(row.rank, row.author) for row in board.rows] == [(1, "bob"), (2, "ada"), (3, "cy")]


def test_pass_at_five_needs_five_samples_of_every_task(store: Store) -> None:
    for number in range(5):
        save(store, "ada", "p1", str(number), Category.OK if number < 2 else Category.TIMEOUT)
    assert rows(store)["ada"].pass_at == pytest.approx({1: 0.4, 5: 1.0})
    save(store, "ada", "p2", "1")
    assert set(rows(store)["ada"].pass_at) == {1}


def test_right_without_a_kernel_of_its_own_is_not_solved(store: Store) -> None:
    save(store, "ada", "p1", "1", Category.NO_CUSTOM_KERNEL, speedup=3.0)
    row = rows(store)["ada"]
    assert (row.solved, row.fast[0.0], row.pass_at[1]) == (0, 0.0, 0.0)


def test_only_the_newest_version_of_a_problem_is_a_task(store: Store) -> None:
    save(store, "ada", "p1", "1", problem_sha256=sha256("old"), speedup=3.0)
    save(store, "bob", "p1", "1", problem_sha256=sha256("new"), speedup=2.0)
    (board,) = overall(store)
    assert (board.tasks, [row.author for row in board.rows]) == (1, ["bob"])


def test_cases_and_devices_have_boards_of_their_own(store: Store) -> None:
    save(store, "ada", "p1", "1")
    save(store, "ada", "p1", "2", case="small")
    save(store, "ada", "p1", "3", environment=environment("NVIDIA A100"))
    found = [(board.case, board.device_name) for board in overall(store)]
    assert found == [("full", "NVIDIA A100"), ("full", "NVIDIA H200"), ("small", "NVIDIA H200")]
    assert [board.case for board in overall(store, case="small")] == ["small"]
    assert overall(store, device="none") == ()


def test_precisions_are_tasks_of_their_own(store: Store) -> None:
    save(store, "ada", "p1", "1", precision="float16", speedup=2.0)
    save(store, "ada", "p1", "2", precision="float32", speedup=8.0)
    (board,) = overall(store)
    assert board.tasks == 2 and board.rows[0].geometric_mean == pytest.approx(4.0)


def test_compare(store: Store) -> None:
    example(store)
    found = compare(store, "ada", "bob")
    assert [(board.problem, board.first, board.second, board.outcome) for board in found.boards] == [
        ("p1", 2.0, 4.0, "second"),
        ("p2", 0.75, 0.5, "first"),
    ]
    assert (found.wins, found.losses, found.ties, found.p_value) == (1, 1, 0, 1.0)
    assert found.ratio == pytest.approx(math.sqrt(0.5 * 1.5))
    assert found.ratio_low == pytest.approx(0.5) and found.ratio_high == pytest.approx(1.5)


def test_who_alone_has_solved_a_problem_wins_it(store: Store) -> None:
    example(store)
    found = compare(store, "ada", "cy")
    assert [(board.problem, board.second, board.ratio, board.outcome) for board in found.boards] == [("p1", None, None, "first")]
    assert (found.wins, found.losses, found.ratio, found.ratio_low) == (1, 0, None, None)


def test_six_wins_of_six_are_significant(store: Store) -> None:
    for number in range(6):
        save(store, "ada", f"p{number}", "1", speedup=2.0)
        save(store, "bob", f"p{number}", "1", speedup=1.0)
    found = compare(store, "ada", "bob")
    assert (found.wins, found.p_value) == (6, 2 / 64) and found.ratio == pytest.approx(2.0)


def test_an_unknown_author_is_named(store: Store) -> None:
    example(store)
    with pytest.raises(StoreError, match="no author 'dan'"):
        compare(store, "ada", "dan")


def test_history(store: Store) -> None:
    first = store.save(result(source="one", submission="a.py", speedup=2.0), "one")
    store.save(result(source="x", submission="other.py"), "x")
    second = store.save(result(Category.TIMEOUT, source="two", submission="a.py"), "two")
    found = history(store, "a.py")
    assert [(row.evaluation_id, row.category, row.speedup, row.is_current, row.is_ranked) for row in found] == [
        (first, "ok", 2.0, False, False),
        (second, "timeout", None, True, False),
    ]
    with pytest.raises(StoreError, match=r"no submission 'b\.py'"):
        history(store, "b.py")

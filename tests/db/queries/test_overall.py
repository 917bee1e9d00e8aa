"""Authors over all problems, two authors against each other, and a submission's past: examples worked out by hand."""

import itertools
import math
import random
from statistics import fmean
from typing import Any

import pytest

from db.error import StoreError
from db.queries.compare import compare
from db.queries.curves import best_speedups
from db.queries.filters import Filters
from db.queries.history import history
from db.queries.leaderboard import CategoryCount
from db.queries.overall import OverallRow, overall
from db.queries.statistics import FAILURE_SPEEDUP, FAST_P
from db.store import Store
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence
from tests.db.conftest import BOTH
from tests.db.samples import PROBLEM_SOURCE, environment, result, sha256, timing

pytestmark = pytest.mark.slow(15)


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
    (board,) = overall(store, Filters(**filters))
    return {row.author: row for row in board.rows}


@BOTH
def test_a_worked_example(store: Store) -> None:
    example(store)
    (board,) = overall(store)
    assert (board.case, board.device_name, board.tasks) == ("full", "NVIDIA H200", 3)
    found = rows(store)
    ada, bob, cy = found["ada"], found["bob"], found["cy"]

    assert (ada.attempted, ada.samples, ada.solved) == (3, 3, 2)
    assert ada.medals == (1, 1, 0)
    assert [(of.problem, of.samples, of.speedup, of.rank) for of in ada.results] == [
        ("p1", 1, 2.0, 2),
        ("p2", 1, 0.75, 1),
        ("p3", 1, None, None),
    ]

    # One of two samples is right for p1 and for p2; p3 was not tried. What was not evaluated is no sample.
    assert (bob.attempted, bob.samples, bob.solved) == (2, 4, 2)
    assert bob.pass_at == pytest.approx({1: 0.5})
    assert bob.medals == (1, 1, 0)
    assert bob.failures.counts == (
        CategoryCount(Status.BUILD_FAILED, Category.CONST_POINTER, 1),
        CategoryCount(Status.NOT_EVALUATED, Category.INFRASTRUCTURE_ERROR, 1),
        CategoryCount(Status.REJECTED, Category.NO_CODE_BLOCK, 1),
    )

    assert (cy.attempted, cy.samples, cy.solved, cy.medals) == (1, 1, 0, (0, 0, 0))
    assert cy.geometric_mean == pytest.approx(FAILURE_SPEEDUP)
    assert [(of.problem, of.samples, of.speedup) for of in bob.results] == [("p1", 2, 4.0), ("p2", 2, 0.5)]
    assert [(of.problem, of.evaluation_id) for of in cy.results] == [("p1", None)]
    assert [(row.rank, row.author) for row in board.rows] == [(1, "bob"), (2, "ada"), (3, "cy")]


def spread(speedup: float, share: float) -> Evidence:
    return Evidence(timing=timing(speedup, share))


def test_medals(store: Store) -> None:
    # Of p1: 4.0 ± 10 % and 3.5 ± 10 % can't be told apart, 2.0 is third, 1.0 and 0.5 come after. Of p2: four places apart.
    for author, first, second in (("ada", 4.0, 1.0), ("bob", 3.5, 8.0), ("cy", 2.0, 4.0), ("dan", 1.0, 2.0), ("eve", 0.5, None)):
        save(store, author, "p1", "1", speedup=first, evidence=spread(first, 0.1 if first > 3 else 0.01))
        if second is not None:
            save(store, author, "p2", "1", speedup=second, evidence=spread(second, 0.01))
    # A second submission of the same author, close to the best, earns no second medal.
    save(store, "bob", "p2", "2", speedup=7.9, evidence=spread(7.9, 0.01))
    medals = {author: row.medals for author, row in rows(store).items()}
    assert medals == {"ada": (1, 0, 0), "bob": (2, 0, 0), "cy": (0, 1, 1), "dan": (0, 0, 1), "eve": (0, 0, 0)}


def test_all_figures_agree_with_their_definitions(store: Store) -> None:
    """Random results of 4 authors for 7 problems, several samples each, against the definitions carried out sample by sample."""
    draw = random.Random(11)
    samples: dict[tuple[str, str], list[float | None]] = {}
    for author, problem in itertools.product(("ada", "bob", "cy", "dan"), (f"p{number}" for number in range(7))):
        outcomes = [draw.lognormvariate(0.2, 0.8) if draw.random() < 0.5 else None for _ in range(draw.choice((0, 5, 6, 11)))]
        if outcomes:
            samples[author, problem] = outcomes
        for number, speedup in enumerate(outcomes):
            category = Category.OK if speedup else draw.choice((Category.WRONG_VALUES, Category.TIMEOUT, Category.SYNTAX_ERROR))
            save(store, author, problem, str(number), category, **({"speedup": speedup} if speedup else {}))
    problems = sorted({problem for (_, problem), outcomes in samples.items() if any(outcomes)})
    found = rows(store)
    for author in {author for author, _ in samples}:
        row = found[author]
        best = [max((s for s in samples.get((author, problem), ()) if s), default=None) for problem in problems]
        assert row.solved == sum(speedup is not None for speedup in best)
        # KernelBench: 1/N * sum over all N problems of [correct and speedup > p].
        assert row.fast == pytest.approx({p: sum(bool(s and s > p) for s in best) / len(problems) for p in (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)})
        counted = [max(s or FAILURE_SPEEDUP, FAILURE_SPEEDUP) for s in best]
        assert row.geometric_mean == pytest.approx(math.prod(counted) ** (1 / len(problems)))
        tried = [[bool(s) for s in samples[author, problem]] for problem in problems if (author, problem) in samples]
        assert (row.attempted, row.samples) == (len(tried), sum(map(len, tried)))
        # pass@k: the share of all draws of k samples without replacement that hold a right one, mean over problems.
        expected = {k: fmean(fmean(map(any, itertools.combinations(t, k))) for t in tried) for k in (1, 5, 10) if k <= min(map(len, tried))}
        assert row.pass_at == pytest.approx(expected) and {1, 5} <= set(expected)
    assert [row.geometric_mean for row in found.values()] == sorted((row.geometric_mean for row in found.values()), reverse=True)


def test_right_without_a_kernel_of_its_own_is_not_solved(store: Store) -> None:
    save(store, "ada", "p1", "1", Category.NO_CUSTOM_KERNEL, speedup=3.0)
    row = rows(store)["ada"]
    assert (row.solved, row.fast[0.0], row.pass_at[1]) == (0, 0.0, 0.0)


def test_only_the_newest_version_of_a_problem_is_a_task(store: Store) -> None:
    save(store, "ada", "p1", "1", problem_sha256=sha256("old"), speedup=3.0)
    save(store, "bob", "p1", "1", problem_sha256=sha256("new"), speedup=2.0)
    (board,) = overall(store)
    assert (board.tasks, [row.author for row in board.rows]) == (1, ["bob"])


def test_what_nobody_was_judged_on_is_no_task_and_who_was_never_judged_has_no_place(store: Store) -> None:
    # As on a machine without a GPU: four problems solved, a fifth failed, and the rest not evaluated.
    save(store, "ada", "p4", "1", Category.NO_DEVICE)
    assert overall(store) == () and best_speedups(store) == (), "nobody was judged"
    for number in range(4):
        save(store, "ada", f"p{number}", "1", speedup=2.0)
    save(store, "ada", "p4", "1", Category.WRONG_VALUES)
    for number in range(5, 9):
        save(store, "ada", f"p{number}", "2", Category.NO_DEVICE)
        save(store, "bob", f"p{number}", "2", Category.NO_DEVICE)
    (board,), (drawn,) = overall(store), best_speedups(store)
    (row,) = board.rows
    assert (board.tasks, drawn.tasks, row.author, row.solved, row.attempted, row.samples) == (5, 5, "ada", 4, 5, 5)
    assert row.fast[0.0] == pytest.approx(0.8)
    assert row.geometric_mean == pytest.approx((2.0**4 * FAILURE_SPEEDUP) ** (1 / 5))
    save(store, "bob", "p1", "2", Category.TIMEOUT)
    assert set(rows(store)) == {"ada", "bob"}


def test_the_board_with_the_most_solved_tasks_comes_first(store: Store) -> None:
    save(store, "ada", "p1", "1", Category.TIMEOUT, case="a")
    save(store, "bob", "p1", "2", Category.TIMEOUT, case="a")
    for problem in ("p1", "p2"):
        save(store, "ada", problem, f"{problem} of c", case="c")
        save(store, "bob", problem, f"{problem} of bob", case="c")
        save(store, "ada", problem, f"{problem} of b", Category.OK if problem == "p1" else Category.TIMEOUT, case="b")
        save(store, "ada", problem, f"{problem} of d", Category.OK if problem == "p2" else Category.TIMEOUT, case="d")
    assert [(board.case, board.solved, board.tasks) for board in overall(store)] == [("c", 2, 2), ("b", 1, 2), ("d", 1, 2), ("a", 0, 1)]


def test_cases_and_devices_have_boards_of_their_own_and_precisions_are_tasks(store: Store) -> None:
    save(store, "ada", "p1", "1", speedup=2.0)
    save(store, "ada", "p1", "2", case="small")
    save(store, "ada", "p1", "3", environment=environment("NVIDIA A100"))
    save(store, "ada", "p1", "4", precision="float16", speedup=8.0)
    for question in (overall, best_speedups):
        found = [(board.case, board.device_name, board.tasks) for board in question(store)]
        assert sorted(found) == [("full", "NVIDIA A100", 1), ("full", "NVIDIA H200", 2), ("small", "NVIDIA H200", 1)]
        assert [board.case for board in question(store, Filters(case="small"))] == ["small"]
        assert question(store, Filters(device="none")) == ()
    assert overall(store)[0].rows[0].geometric_mean == pytest.approx(4.0)


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


def test_boards_that_can_not_be_told_apart_are_left_out_of_the_sign_test(store: Store) -> None:
    # Seven won, one lost, three tied because the intervals overlap, one that none has solved, one that bob alone has tried.
    for number in range(7):
        save(store, "ada", f"won{number}", "1", speedup=2.0)
        save(store, "bob", f"won{number}", "1", speedup=1.0)
    save(store, "ada", "lost", "1", Category.TIMEOUT)
    save(store, "bob", "lost", "1", speedup=1.0)
    for number in range(3):
        save(store, "ada", f"tied{number}", "1", speedup=2.0, evidence=spread(2.0, 0.1))
        save(store, "bob", f"tied{number}", "1", speedup=1.9, evidence=spread(1.9, 0.1))
    save(store, "ada", "neither", "1", Category.TIMEOUT)
    save(store, "bob", "neither", "1", Category.TIMEOUT)
    save(store, "bob", "alone", "1", speedup=9.0)
    found = compare(store, "ada", "bob")
    assert (found.wins, found.losses, found.ties, len(found.boards)) == (7, 1, 3, 12)
    # 2 * (C(8, 0) + C(8, 1)) / 2**8
    assert found.p_value == pytest.approx(18 / 256)
    assert found.ratio == pytest.approx((2.0**7 * (2.0 / 1.9) ** 3) ** (1 / 10))
    # How many of ten boards drawn anew are ties is binomial, with 0.3: 6 or more in 4.7 %, 7 or more in 1.1 %, none in 2.8 % of draws.
    assert (found.ratio_low, found.ratio_high) == pytest.approx(((2.0**4 * (2.0 / 1.9) ** 6) ** (1 / 10), 2.0))
    turned = compare(store, "bob", "ada")
    assert (turned.wins, turned.losses, turned.p_value) == (1, 7, found.p_value)
    assert found.ratio is not None and turned.ratio == pytest.approx(1 / found.ratio)


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


def test_reduced_precision_solves_on_request_and_is_told(store: Store) -> None:
    save(store, "ada", "p1", "1", speedup=2.0)
    save(store, "ada", "p1", "2", Category.REDUCED_PRECISION, speedup=4.0)
    save(store, "ada", "p2", "1", Category.REDUCED_PRECISION, speedup=8.0)
    save(store, "ada", "p3", "1", speedup=1.0)
    (board,), (mixed,) = overall(store), overall(store, reduced_precision=True)
    (plain,), (allowed,) = board.rows, mixed.rows
    assert (plain.solved, plain.reduced, allowed.solved, allowed.reduced) == (2, 0, 3, 2)
    assert plain.geometric_mean == pytest.approx((2.0 * FAILURE_SPEEDUP * 1.0) ** (1 / 3))
    assert allowed.geometric_mean == pytest.approx((4.0 * 8.0 * 1.0) ** (1 / 3))
    assert plain.pass_at == pytest.approx({1: fmean([0.5, 0.0, 1.0])}) and allowed.pass_at == {1: 1.0}
    assert [item.category for item in plain.failures.counts] == [Category.REDUCED_PRECISION] and not allowed.failures.counts
    assert best_speedups(store, reduced_precision=True)[0].authors == {"ada": (1.0, 4.0, 8.0)}


def save_curve(store: Store, problem: str, author: str | None, speedup: float | None) -> None:
    name = f"{problem} {author} {speedup}"
    category = Category.OK if speedup else Category.TIMEOUT
    store.save(result(category, name, speedup, submission=name, problem=problem, author=author), name, PROBLEM_SOURCE)


def test_a_curve_agrees_with_fast_p(store: Store) -> None:
    for problem, speedup in (("a", 0.6), ("b", 1.0), ("c", 2.5), ("d", None)):
        save_curve(store, problem, "ada", speedup)
    save_curve(store, "a", "bob", 1.2)
    (board,) = best_speedups(store)
    assert (board.case, board.device_name, board.tasks) == ("full", "NVIDIA H200", 4)
    assert board.authors == {"ada": (0.6, 1.0, 2.5), "bob": (1.2,)}
    assert board.curve("ada") == ((0.0, 0.75), (0.6, 0.5), (1.0, 0.25), (2.5, 0.0))
    (told,) = overall(store)
    for row in told.rows:
        curve = board.curve(row.author)
        for p in FAST_P:
            assert row.fast[p] == [share for at, share in curve if at <= p][-1]


def test_who_solved_nothing_has_no_curve_and_the_best_counts(store: Store) -> None:
    save_curve(store, "a", "ada", 1.5)
    save_curve(store, "a", "ada", 3.0)
    save_curve(store, "a", None, 0.5)
    save_curve(store, "a", "bob", None)
    (board,) = best_speedups(store)
    assert board.authors == {"ada": (3.0,), None: (0.5,)}

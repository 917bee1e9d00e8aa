"""Which rounds decide, and which draws are left out."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from evaluator.judge import limits
from evaluator.judge.correctness.inputs.round_inputs import RoundInputs, RoundPlan
from evaluator.judge.correctness.oracle.reference import Oracle, ReferenceFailedError
from evaluator.problem.problem import ProblemCase
from evaluator.problem.stored_inputs import StoredTensor
from evaluator.results.distributions import DISTRIBUTIONS, Rule
from tests.judge.correctness.plain_problems import plain_case

CPU = torch.device("cpu")
REPORTED = ["wide", "ties", "shifted", "special"]


def rounds_of(case: ProblemCase, *, strict: bool = False) -> RoundInputs:
    return RoundInputs(case, CPU, Oracle(case.model(1, CPU), case.rows_independent), strict=strict)


def names(rounds: RoundInputs) -> list[str]:
    return [plan.distribution for plan in rounds.plans]


def test_the_problems_own_draws_decide_and_changes_that_multiply_by_gross_errors(tmp_path: Path) -> None:
    rounds = rounds_of(plain_case(tmp_path, "torch.randn(20, 30)"))
    assert sorted(names(rounds)) == sorted(["signs", "scaled", "rows", "outliers", *["own"] * limits.ROUNDS])
    assert names(rounds)[0] == names(rounds)[-1] == "own"
    rules = {draw.distribution: draw.rule for draw in map(rounds.draw, rounds.plans)}
    assert rules == {"own": "tolerance", "signs": "gross", "scaled": "gross", "rows": "gross", "outliers": "finite"}
    assert [plan.twice for plan in rounds.plans] == [True, *[False] * (limits.ROUNDS + 2), True]
    assert rounds.reported == REPORTED


def test_where_any_inputs_are_declared_every_distribution_decides(tmp_path: Path) -> None:
    rounds = rounds_of(plain_case(tmp_path, "torch.randn(20, 30)", declared="{'inputs': 'any'}"))
    assert names(rounds) == ["own", "signs", *REPORTED, "rows", "outliers", "own"]
    assert {rounds.draw(plan).rule for plan in rounds.plans} == {Rule.TOLERANCE} and rounds.reported == []


def test_strict_inputs_make_every_distribution_decide(tmp_path: Path) -> None:
    rounds = rounds_of(plain_case(tmp_path, "torch.randn(20, 30)"), strict=True)
    assert set(names(rounds)) == {*DISTRIBUTIONS} - {"runs"}
    assert {rounds.draw(RoundPlan(name)).rule for name in REPORTED} == {Rule.TOLERANCE}
    assert names(rounds).count("own") == limits.ROUNDS


@pytest.mark.parametrize(
    ("declared", "strict", "always"),
    [("{}", False, set()), ("{}", True, set(REPORTED)), ("{'inputs': 'any'}", False, set(REPORTED))],
)
def test_a_workload_has_one_change_of_each_sort(tmp_path: Path, declared: str, strict: bool, always: set[str]) -> None:
    rounds = rounds_of(plain_case(tmp_path, "torch.randn(20, 30)", declared=declared), strict=strict)
    plans = rounds.brief()
    found = {plan.distribution for plan in plans}
    assert plans[0] == RoundPlan("own", twice=True) and found >= {"own", *always}
    assert len(found & {"signs", "scaled"}) == len(found & {"rows", "outliers"}) == 1
    assert len(plans) == len(found) + 1


@pytest.mark.parametrize(
    ("drawn", "changes"),
    [
        ("torch.randn(20, 30).abs()", ["scaled", "wide", "shifted", "rows", "outliers"]),
        ("(lambda a: a + a.mT)(torch.randn(20, 20))", ["signs", "scaled"]),
        ("torch.randn(20, 30).sort(1).values", ["scaled", "shifted"]),
        ("torch.randn(20, 30).softmax(1)", []),
        ("torch.randint(0, 9, (20, 30))", []),
    ],
)
def test_only_changes_that_keep_structure_are_planned(tmp_path: Path, drawn: str, changes: list[str]) -> None:
    rounds = rounds_of(plain_case(tmp_path, drawn), strict=True)
    assert sorted(name for name in names(rounds) if name != "own") == sorted(changes)
    assert names(rounds).count("own") == limits.ROUNDS >= 5


def test_a_problem_may_be_without_a_distribution(tmp_path: Path) -> None:
    rounds = rounds_of(plain_case(tmp_path, "torch.randn(20, 30)", declared="{'without': {'signs': 'a', 'wide': 'b'}}"))
    assert "signs" not in names(rounds) and rounds.reported == REPORTED[1:]


def test_where_the_answer_is_exact_elements_are_not_made_equal(tmp_path: Path) -> None:
    assert rounds_of(plain_case(tmp_path, "torch.randn(20, 30)", "return x.argmax(1)")).reported == ["wide"]


@pytest.mark.parametrize(
    ("drawn", "body", "said"),
    [
        ("torch.rand(20, 30)", "return x.sqrt()", "NaN or infinite"),
        ("torch.rand(20, 30)", "assert bool((x >= 0).all())\n        return x", "the reference raised AssertionError"),
        ("torch.rand(20, 30)", "return x if bool((x >= 0).all()) else x * 0 + 5", "the same"),
    ],
)
def test_a_change_for_which_there_is_no_right_answer_is_left_out(tmp_path: Path, drawn: str, body: str, said: str) -> None:
    rounds = rounds_of(plain_case(tmp_path, drawn, body))
    assert said in rounds.draw(RoundPlan("signs")).left_out
    assert rounds.draw(RoundPlan("own")).left_out == ""


@pytest.mark.parametrize(
    "body",
    [
        "return x.sqrt(), torch.full_like(x, torch.nan)",
        "return x * 3, torch.ones_like(x)",
        "return x * 3, torch.zeros(3, dtype=torch.int64)",
        "return x.sum()",
    ],
)
def test_a_change_stays_where_the_own_answer_is_no_better(tmp_path: Path, body: str) -> None:
    assert rounds_of(plain_case(tmp_path, "torch.rand(20, 30)", body)).draw(RoundPlan("signs")).left_out == ""


def test_rows_are_multiplied_by_positive_numbers_where_others_have_no_right_answer(tmp_path: Path) -> None:
    rounds = rounds_of(plain_case(tmp_path, "torch.rand(200, 30)", "return x.sqrt()"))
    draw = rounds.draw(RoundPlan("scaled"))
    assert draw.left_out == "" and float(draw.arguments[0].min()) >= 0 and float(draw.arguments[0].max()) > 2


def test_where_any_inputs_are_declared_nothing_is_left_out(tmp_path: Path) -> None:
    rounds = rounds_of(plain_case(tmp_path, "torch.rand(20, 30)", "return x.sqrt()", declared="{'inputs': 'any'}"))
    assert rounds.draw(RoundPlan("signs")).left_out == ""


def test_nothing_changes_where_the_reference_would_break_the_device(tmp_path: Path) -> None:
    body = "return nn.functional.binary_cross_entropy(x, y, reduction='none')"
    rounds = rounds_of(plain_case(tmp_path, "torch.rand(20, 30), torch.rand(20, 30)", body, "x, y"), strict=True)
    assert names(rounds) == ["own"] * limits.ROUNDS and rounds.reported == []


def test_a_lack_of_memory_is_no_reason_to_leave_a_change_out(tmp_path: Path) -> None:
    body = "if (x < 0).any(): raise torch.OutOfMemoryError('none left')\n        return x"
    with pytest.raises(ReferenceFailedError, match="none left"):
        rounds_of(plain_case(tmp_path, "torch.rand(20, 30)", body)).draw(RoundPlan("signs"))


def test_each_draw_is_another_and_told_by_its_seed(tmp_path: Path) -> None:
    case = plain_case(tmp_path, "torch.rand(20, 30)")
    rounds = rounds_of(case)
    first, second = rounds.draw(RoundPlan("own")), rounds.draw(RoundPlan("own"))
    assert first.seed != second.seed and not torch.equal(first.arguments[0], second.arguments[0])
    assert torch.equal(case.inputs(first.seed, CPU)[0], first.arguments[0])


def test_the_example_can_be_forgotten(tmp_path: Path) -> None:
    rounds = rounds_of(plain_case(tmp_path, "torch.rand(20, 30)"))
    plans = rounds.plans
    rounds.forget()
    assert (rounds.example, rounds.expected, rounds.plans) == ([], None, plans)


@pytest.mark.parametrize("declared", ["{}", "{'inputs': 'any'}"])
def test_inputs_from_files_are_judged_and_so_are_draws_without_them(tmp_path: Path, declared: str) -> None:
    """Floating-point ones are changed like others, integers stay."""
    case = plain_case(tmp_path, "torch.randn(20, 30), torch.randint(0, 9, (20,))", parameters="x, n", declared=declared)
    x, n = torch.randn(20, 30), torch.arange(20) % 9
    given = {0: StoredTensor("x", "a.safetensors", x), 1: StoredTensor("n", "a.safetensors", n)}
    rounds = rounds_of(replace(case, stored=given))
    for plan in {RoundPlan("own", twice=True), *rounds.plans, *rounds.brief()}:
        first, indices = rounds.draw(plan).arguments
        assert torch.equal(indices, n) is (plan != RoundPlan("own")), plan
        assert torch.equal(first, x) is plan.twice, plan
    assert RoundPlan("own") in rounds.plans and RoundPlan("own") in rounds.brief()

"""Some rows of an answer, drawn anew."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from evaluator.judge.correctness import row_sampling as module
from evaluator.judge.correctness.check import judge_values
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.correctness.outcome import Right, Wrong
from evaluator.judge.correctness.row_sampling import BLOCKS, Sample, Sampler, common_rows
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.results.category import Category
from evaluator.results.distributions import Rule
from tests.judge.conftest import Judge
from tests.judge.sources import forward

pytestmark = pytest.mark.slow(10)


def test_rows_are_drawn_anew_in_blocks_and_any_row_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE_ELEMENTS", 16 * 20)
    sampler = Sampler([torch.zeros(61, 20)], [torch.zeros(61, 20)], rows_independent=True)
    drawn = [sampler.draw() for _ in range(200)]
    rows = [list(range(61)) if sample is None else [row for block in sample.blocks for row in block] for sample in drawn]
    assert all(sample is not None and len(sample.blocks) == BLOCKS for sample in drawn)
    assert all(15 <= len(set(some)) == len(some) <= 16 for some in rows)
    assert {row for some in rows for row in some} == set(range(61))


def test_all_rows_are_taken_where_there_are_few_or_one_output_has_a_scale_of_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [torch.randn(60, 20)]
    rows, sums = torch.zeros(60, 20), torch.zeros(60)
    assert Sampler(inputs, [rows], rows_independent=True).draw() is None
    monkeypatch.setattr(module, "SAMPLE_ELEMENTS", 40)
    assert Sampler(inputs, [rows], rows_independent=True).draw() is not None
    assert Sampler(inputs, [rows, sums], rows_independent=True).draw() is None
    assert Sampler(inputs, [rows], rows_independent=False).draw() is None
    assert Sampler([torch.randn(59, 20)], [rows], rows_independent=True).draw() is None
    assert Sampler(inputs, [rows, rows.long()], rows_independent=True).draw() is None
    assert Sampler(inputs, [], rows_independent=False).draw() is Sampler([], [], rows_independent=True).draw() is None


@pytest.mark.parametrize(
    ("shapes", "expected"), [(((3, 4), (3,)), 3), (((3, 4), (4,)), None), (((3, 4), ()), None), (((0, 4), (0,)), None)]
)
def test_rows_that_all_tensors_have(shapes: tuple[tuple[int, ...], ...], expected: int | None) -> None:
    first, *others = (torch.zeros(shape) for shape in shapes)
    assert common_rows([first, 2.0], others) == expected


def test_a_sample_is_judged_by_its_own_rows_and_named_by_their_numbers() -> None:
    case = load(SHIPPED / "softmax.py").instance("small")
    oracle = Oracle(nn.Softmax(dim=1), rows_independent=True)
    arguments: list[Any] = [torch.randn(40, 30)]
    answer = oracle.expected(arguments).clone()
    answer[:5] = 0.0
    answer[33, 7] += 1.0
    right, wrong = Sample((range(5, 9), range(20, 22))), Sample((range(5, 9), range(32, 36)))
    form = torch.empty(40, 30, device="meta")
    assert isinstance(judge_values(case, oracle, arguments, [right.of(answer)], form, sample=right), Right)
    judged = judge_values(case, oracle, arguments, [wrong.of(answer)], form, sample=wrong)
    assert isinstance(judged, Wrong)
    assert "1 of 240 elements of 8 rows of the output" in judged.message and "first at (33, 7)" in judged.message


def sampler(monkeypatch: pytest.MonkeyPatch, *outputs: torch.Tensor, rows_independent: bool = True, block: int = 2) -> Sampler:
    """A sampler of outputs with 1952 rows, with blocks of this many rows."""
    monkeypatch.setattr(module, "SAMPLE_ELEMENTS", 8 * block * 20)
    return Sampler([torch.zeros(1952, 20)], outputs or [torch.zeros(1952, 20)], rows_independent)


@pytest.mark.parametrize(("block", "neighbours"), [(8, [3, 40, 41]), (16, [2, 3, 40, 41]), (128, [*range(16), *range(32, 48)])])
def test_a_sample_holds_every_changed_row_with_neighbours_and_others(
    block: int, neighbours: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = sampler(monkeypatch, block=block)
    drawn = [chosen.holding([3, 40, 41]) for _ in range(500)]
    rows = [[row for block in sample.blocks for row in block] for sample in drawn if sample is not None]
    assert len(rows) == 500
    assert all(len(set(some)) == len(some) == len(neighbours) + block for some in rows)
    assert all({*neighbours} <= {*some} for some in rows)
    assert len({row for some in rows for row in some}) > 1600
    assert chosen.holding([]) is None  # changes that lie in all rows
    assert chosen.holding(range(1952)) is None


def test_a_sample_of_changed_rows_suits_integers_and_with_many_rows_one_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, sums = torch.zeros(1952, 20).long(), torch.zeros(1952)
    assert sampler(monkeypatch, rows_independent=False, block=128).holding([3]) is None
    assert sampler(monkeypatch, codes, block=8).holding([3]) is not None
    assert sampler(monkeypatch, codes, sums, block=128).holding([3]) is not None
    assert sampler(monkeypatch, codes, sums, block=64).holding([3]) is None


def test_all_rows_are_compared_if_the_reference_can_not_take_a_sample(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SAMPLE_ELEMENTS", 1)
    path = tmp_path / "pairs.py"
    path.write_text(
        """import torch
ASSAY = {"rows_independent": True}
rows = 64
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x.view(32, 2, 3000), 2).view(64, 3000)
def get_inputs():
    return [torch.randn(rows, 3000)]
def get_init_inputs():
    return []
"""
    )
    result = judge(forward("return torch.softmax(x, 1)"), problem_path=path)
    assert [found.distribution for found in result.evidence.rounds if found.distribution in ("rows", "outliers")], result.message
    assert all(found.passed for found in result.evidence.rounds)


def test_a_wrong_row_among_changed_ones_is_found_in_a_sample(judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE_ELEMENTS", 1)
    path = tmp_path / "rows.py"
    path.write_text(
        """import torch
ASSAY = {"rows_independent": True}
rows, columns = 64, 3000
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1)
def get_inputs():
    return [torch.randn(rows, columns)]
def get_init_inputs():
    return []
"""
    )
    right = judge(forward("return torch.softmax(x, 1)"), problem_path=path)
    assert right.category is Category.NO_CUSTOM_KERNEL, right.message
    wrong = judge(
        forward("y, few = torch.softmax(x, 1), x.pow(2).mean(1) < 0.85\nif few.sum() < 9:\n    y[few] = 0\nreturn y"), problem_path=path
    )
    assert wrong.category is Category.WRONG_VALUES
    failed = wrong.evidence.rounds[-1]
    assert (failed.distribution, failed.outputs[0].elements) == ("rows", 64 * 3000)


@pytest.mark.parametrize(("error", "category", "asked"), [(0.0, None, False), (1e-3, None, True), (1.0, Category.WRONG_VALUES, True)])
def test_where_gross_errors_decide_the_oracle_is_asked_about_doubtful_answers_alone(
    error: float, category: Category | None, asked: bool
) -> None:
    case = load(SHIPPED / "softmax.py").instance("small")
    oracle = Oracle(nn.Linear(30, 20), rows_independent=True)
    arguments: list[Any] = [torch.randn(40, 30)]
    answer = oracle.expected(arguments).clone()
    answer[3, 4] += error
    judged = judge_values(case, oracle, arguments, [answer], torch.empty(40, 20, device="meta"), rule=Rule.GROSS)
    found = judged.category if isinstance(judged, Wrong) else None
    assert (found, oracle.wide_model is not None) == (category, asked)
    assert (judged.figures[0].reference_error is not None) is asked, "the reference has no error against itself"

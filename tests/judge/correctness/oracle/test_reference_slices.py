"""Where the reference's answer to a slice of its inputs is the slice of its answer."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from evaluator.judge.correctness import compare
from evaluator.judge.correctness.check import judge_values
from evaluator.judge.correctness.oracle import reference, reference_slices
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.correctness.oracle.reference_slices import SLICE_SHARE, find_carriers, needs_slices, sliced_inputs
from evaluator.judge.correctness.outcome import Outcome, Right, Wrong
from evaluator.judge.correctness.output_structure import form_of
from evaluator.problem.problem import ProblemCase
from evaluator.results.distributions import Rule
from tests.judge.correctness.plain_problems import plain_case

ROWS, COLUMNS = 64, 24


class Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def x(*shape: int) -> torch.Tensor:
    return torch.randn(*(shape or (ROWS, COLUMNS)))


SLICED: dict[str, tuple[Callable[..., Any], list[Any], set[int]]] = {
    "an activation": (torch.tanh, [x()], {0}),
    "a sum of two": (torch.add, [x(), x()], {0, 1}),
    "a product with one matrix": (torch.matmul, [x(), x(COLUMNS, 9)], {0}),
    "a square product": (torch.matmul, [x(ROWS, ROWS), x(ROWS, ROWS)], {0}),
    "a batch of products": (torch.bmm, [x(ROWS, 5, 6), x(ROWS, 6, 7)], {0, 1}),
    "a softmax of rows": (lambda a: a.softmax(1), [x()], {0}),
    "two outputs": (lambda a: (a * 2, a.argmax(1)), [x()], {0}),
    "an output in FP8": (lambda a: a.to(torch.float8_e4m3fn), [x()], {0}),
    "a complex output": (lambda a: torch.fft.fft(a), [x()], {0}),
    "indices": (lambda i, table: table[i], [torch.randint(0, 9, (ROWS,)), x(9, 4)], {0}),
}
WHOLE: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "a softmax of columns": (lambda a: a.softmax(0), [x()]),
    "a batch normalization": (lambda a: nn.functional.batch_norm(a, None, None, training=True), [x()]),
    "a cumulative sum": (lambda a: a.cumsum(0), [x()]),
    "a flip": (lambda a: a.flip(0), [x()]),
    "a norm of everything": (lambda a: a / a.norm(), [x()]),
    "a loss": (lambda a: a.mean(), [x()]),
    "a transposition": (lambda a: a.t(), [x()]),
    "outputs of two lengths": (lambda a: (a, a[:5]), [x()]),
    "one row": (torch.tanh, [x(1, COLUMNS)]),
    "one size alone": (lambda a: a.view(ROWS, COLUMNS) * 2, [x()]),
    "a random answer": (lambda a: a + torch.rand(len(a), 1), [x()]),
}


@pytest.mark.parametrize("name", SLICED)
def test_carriers_are_the_inputs_that_have_the_answers_rows(name: str) -> None:
    function, inputs, carriers = SLICED[name]
    assert find_carriers(Function(function), inputs) == carriers


@pytest.mark.parametrize("name", WHOLE)
def test_there_are_none_where_rows_depend_on_each_other(name: str) -> None:
    function, inputs = WHOLE[name]
    assert find_carriers(Function(function), inputs) == frozenset()


@pytest.mark.parametrize("apart, carriers", [(1, {0}), (10, set())])
def test_few_elements_of_slices_may_hang_on_a_rounding(apart: int, carriers: set[int]) -> None:
    def rounds_by_size(a: torch.Tensor) -> torch.Tensor:
        return torch.cat([a[:1, :apart] + len(a), a[:1, apart:]], 1).expand(len(a), -1)

    wide = torch.ones(SLICE_SHARE * 2, 1024)
    assert find_carriers(Function(rounds_by_size), [wide]) == carriers


def test_only_carriers_are_sliced() -> None:
    inputs: list[Any] = [x(8, 2), {"table": x(8, 3), "factor": 2}, (x(8, 4),)]
    found = sliced_inputs(inputs, slice(2, 5), {0, 2})
    assert torch.equal(found[0], inputs[0][2:5]) and torch.equal(found[2][0], inputs[2][0][2:5])
    assert found[1] is not inputs[1] and torch.equal(found[1]["table"], inputs[1]["table"]) and found[1]["factor"] == 2


def test_slices_are_not_needed_off_the_gpu() -> None:
    assert not needs_slices([x()], [x()])


@pytest.fixture
def sliced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every oracle is taken to be too large, and slices have few rows."""
    monkeypatch.setattr(reference, "needs_slices", lambda *_: True)
    monkeypatch.setattr(reference, "CHUNK_ELEMENTS", 10 * COLUMNS)


def judged(case: ProblemCase, inputs: list[Any], answer: list[torch.Tensor], *, rule: Rule = Rule.TOLERANCE) -> Outcome:
    oracle = Oracle(case.model(1, inputs[0].device), case.rows_independent)
    return judge_values(case, oracle, inputs, answer, form_of(oracle.expected(inputs)), rule=rule)


@pytest.mark.parametrize("rule", [Rule.TOLERANCE, Rule.GROSS])
@pytest.mark.parametrize("change", ["none", "one element", "a tail"])
def test_slices_give_the_figures_of_the_whole(tmp_path: Any, request: pytest.FixtureRequest, change: str, rule: Rule) -> None:
    case = plain_case(tmp_path, "torch.randn(64, 24)", "return x.exp() * 3")
    inputs = [x()]
    answer = [inputs[0].exp() * 3]
    if change == "one element":
        answer[0][40, 7] += 100
    elif change == "a tail":
        answer[0][60:] = 0
    whole = judged(case, inputs, [tensor.clone() for tensor in answer], rule=rule)
    request.getfixturevalue("sliced")
    parts = judged(case, inputs, answer, rule=rule)
    assert type(parts) is type(whole) is (Right if change == "none" else Wrong)
    errors = ("max_error", "rms_error", "gross_error", "reference_error", "tolerance")
    for one, other in zip(parts.figures, whole.figures, strict=True):
        assert one.model_dump(exclude={*errors, "error_map"}) == other.model_dump(exclude={*errors, "error_map"})
        for name in errors:
            assert (getattr(one, name) or 0.0) == pytest.approx(getattr(other, name) or 0.0, rel=1e-9, abs=1e-9)


def test_what_can_not_be_sliced_comes_whole(tmp_path: Any, sliced: None) -> None:
    case = plain_case(tmp_path, "torch.randn(64, 24)", "return x.softmax(0)")
    inputs = [x()]
    assert isinstance(judged(case, inputs, [inputs[0].softmax(0)]), Right)


def test_integers_are_sliced_too(tmp_path: Any, sliced: None) -> None:
    case = plain_case(tmp_path, "torch.randn(64, 24)", "return x.argmax(1)")
    inputs = [x()]
    right = inputs[0].argmax(1)
    assert isinstance(judged(case, inputs, [right]), Right)
    assert isinstance(judged(case, inputs, [(right + 1) % COLUMNS]), Wrong)


@pytest.mark.gpu
def test_slices_are_needed_on_a_gpu_where_the_whole_does_not_fit(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [torch.randn(ROWS, COLUMNS, device="cuda")]
    answer = [inputs[0].exp() * 3]
    assert not needs_slices(inputs, answer)
    monkeypatch.setattr(reference_slices, "WHOLE_FACTOR", 1e12)
    monkeypatch.setattr(reference_slices, "SMALL_ELEMENTS", 0)
    assert needs_slices(inputs, answer)
    monkeypatch.setattr(reference, "CHUNK_ELEMENTS", 10 * COLUMNS)
    monkeypatch.setattr(compare, "LEAST_FUSED_ELEMENTS", 1)
    case = plain_case(tmp_path, "torch.randn(64, 24)", "return x.exp() * 3")
    assert isinstance(judged(case, inputs, [answer[0].clone()]), Right)
    answer[0][50, 3] *= 1.01
    found = judged(case, inputs, answer)
    assert (found.figures[0].wrong, found.figures[0].first_index) == (1, (50, 3))


@pytest.mark.parametrize(
    "function",
    [lambda a: a - a.roll(1, 0), lambda a: nn.functional.avg_pool1d(a[None, None], 3, 1, 1)[0, 0], lambda a: torch.cat([a[:1] * 0, a[1:]])],
    ids=["the row before", "both neighbours", "the first row"],
)
def test_few_rows_that_depend_on_others_are_seen_among_many(function: Callable[..., Any]) -> None:
    assert find_carriers(Function(function), [torch.randn(1 << 18)]) == frozenset()

"""Checks of problems: shipped problems are fit to judge by; degenerate and unsound ones are refused, by the name of what is wrong with
them."""

from pathlib import Path

import pytest
import torch

from evaluator.judge.correctness.compare import Comparison, OutputPiece
from evaluator.judge.correctness.tolerance import is_exact
from evaluator.judge.problem_check.check import ProblemCheck, check_case
from evaluator.judge.problem_check.trivial_answers import ANSWERS, Known
from evaluator.problem.catalogue import discover
from evaluator.problem.load import load

CPU = torch.device("cpu")
HONEST = Path(__file__).parents[2] / "honest" / "problems"

FORM = """
import torch
from torch import nn

ASSAY = {assay}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        {forward}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""
ROWS = '{"rows_independent": True}'


def admission(folder: Path, forward: str, inputs: str = "torch.randn(64, 100)", assay: str = "{}") -> ProblemCheck:
    path = folder / "problem.py"
    path.write_text(FORM.format(forward=forward, inputs=inputs, assay=assay))
    return check_case(load(path).instance("full"), CPU)


def passed(checked: ProblemCheck) -> set[str]:
    assert {finding.check for finding in checked.findings} <= {"trivial_answer"}, checked.findings
    return {finding.answer for finding in checked.findings}


@pytest.mark.parametrize(("name", "path"), discover([HONEST]).items())
def test_shipped_problems_are_admitted(name: str, path: Path) -> None:
    checked = check_case(load(path).instance("small"), CPU)
    assert checked.admitted, checked.findings
    assert (checked.problem, checked.case, checked.device) == (name, "small", "cpu")


def test_an_answer_of_zeros_is_refused(tmp_path: Path) -> None:
    # What survives of a group normalization's mean: nothing.
    assert "zeros" in passed(admission(tmp_path, "return x - x"))


def test_an_answer_of_ones_is_refused(tmp_path: Path) -> None:
    checked = admission(tmp_path, "return 1 + 1e-9 * torch.sigmoid(x)")
    assert {"ones", "mean", "previous output"} <= passed(checked)
    assert "ones passes as the output: the answer is nothing but ones" in [finding.message for finding in checked.findings]


def test_an_answer_that_is_one_number_all_over_is_refused_for_its_mean(tmp_path: Path) -> None:
    assert passed(admission(tmp_path, "return x.mean().expand(64, 100)")) == {"mean"}


def test_the_identity_is_refused(tmp_path: Path) -> None:
    assert "copy of an input" in passed(admission(tmp_path, "return x.clone()"))


def test_an_activation_that_is_the_identity_on_its_own_inputs_is_refused_only_without_the_others(tmp_path: Path) -> None:
    forward, inputs = "return torch.where(x > 0, x, 0.1 * x)", "torch.rand(64, 100)"
    others = ", ".join(f"{name!r}: 'x'" for name in ("signs", "special"))
    assert admission(tmp_path, forward, inputs).admitted
    assert passed(admission(tmp_path, forward, inputs, f"{{'without': {{{others}}}}}")) == {"copy of an input"}


def test_an_answer_that_the_inputs_do_not_change_is_refused(tmp_path: Path) -> None:
    checked = admission(tmp_path, "return torch.linspace(1, 2, 6400).view(64, 100) + 1e-12 * torch.sigmoid(x)")
    assert passed(checked) == {"previous output"}


def test_a_scalar_that_varies_with_its_inputs_is_admitted(tmp_path: Path) -> None:
    assert admission(tmp_path, "return x.norm() * x[0, 0]").admitted


def test_a_mean_of_many_normal_numbers_is_refused_under_a_tolerance_as_large_as_itself(tmp_path: Path) -> None:
    checked = admission(tmp_path, "return x.mean(dim=1)", "torch.randn(16, 100000)", '{"tolerance": 20000.0}')
    assert {"zeros", "one row skipped", "half precision"} <= passed(checked)
    assert admission(tmp_path, "return x.mean(dim=1)", "torch.randn(16, 100000)").admitted


def test_a_tolerance_that_lets_one_element_be_anything_is_refused(tmp_path: Path) -> None:
    assert "one element off" in passed(admission(tmp_path, "return torch.tanh(x)", assay='{"tolerance": 30000.0}'))


def test_rows_of_very_different_size_are_refused_unless_they_are_judged_one_by_one(tmp_path: Path) -> None:
    # Such as losses that hang on the row's number: the small ones vanish beside the large ones.
    forward = "return torch.tanh(x) * torch.logspace(0, -9, 64)[:, None]"
    assert passed(admission(tmp_path, forward)) == {"one row skipped"}
    forward = "return torch.tanh(x) * torch.logspace(0, -9, len(x))[:, None] if len(x) == 64 else 1 / 0"
    assert admission(tmp_path, forward, assay=ROWS).admitted


def test_rows_that_are_rightly_zero_are_not_held_against_a_problem(tmp_path: Path) -> None:
    assert admission(tmp_path, "return torch.triu(x, 40)").findings == admission(tmp_path, "return torch.triu(2 * x, 40)").findings
    assert "one row skipped" not in passed(admission(tmp_path, "return torch.triu(2 * x, 40)"))


def test_a_tolerance_with_room_for_half_precision_is_refused(tmp_path: Path) -> None:
    assert passed(admission(tmp_path, "return torch.tanh(x)", assay='{"tolerance": 40.0}')) == {"half precision"}


def test_whole_numbers_in_floating_point_lose_nothing_in_half_precision_and_are_admitted(tmp_path: Path) -> None:
    assert admission(tmp_path, "return (x * 3).round().clamp(-9, 9)").admitted


def test_integers_and_booleans_are_admitted(tmp_path: Path) -> None:
    assert admission(tmp_path, "return x.floor().long(), x > 0.5").admitted


def test_exact_answers_that_hang_on_rounding_are_refused(tmp_path: Path) -> None:
    check, message = refusal(admission(tmp_path, "return x / 3 * 3 == x"))
    assert check == "oracle" and message.startswith("the output of the reference itself is wrong_values beside its float64 form")


def test_exact_answers_a_few_of_which_hang_on_rounding_are_admitted(tmp_path: Path) -> None:
    assert admission(tmp_path, "return (x / 0.3).floor().long()", "torch.rand(300, 1000) * 2000").admitted


def test_a_second_output_that_is_always_the_same_is_named(tmp_path: Path) -> None:
    checked = admission(tmp_path, "return torch.tanh(x), {'count': torch.tensor(x.numel())}")
    (finding,) = checked.findings
    assert finding.message == "previous output passes as output[1]['count']: the answer does not depend on the inputs"
    assert finding.answer == "previous output"


def refusal(checked: ProblemCheck) -> tuple[str, str]:
    (finding,) = checked.findings
    assert not checked.admitted and not finding.answer
    return finding.check, finding.message


def test_inputs_that_are_always_the_same_are_refused(tmp_path: Path) -> None:
    assert refusal(admission(tmp_path, "return x * 2", "torch.arange(6400.0).view(64, 100)")) == (
        "inputs",
        "two seeds give the same inputs",
    )


def test_inputs_that_the_seed_does_not_decide_are_refused(tmp_path: Path) -> None:
    check, message = refusal(admission(tmp_path, "return x * 2", "torch.randn(64, 100) + __import__('time').time_ns() % 10**9"))
    assert check == "inputs" and "the same seed gives different inputs" in message


def test_inputs_without_a_tensor_are_refused(tmp_path: Path) -> None:
    assert refusal(admission(tmp_path, "return torch.full((3,), float(x))", "2.5")) == ("inputs", "get_inputs() returns no tensor")


def test_a_reference_that_changes_its_inputs_is_refused(tmp_path: Path) -> None:
    assert refusal(admission(tmp_path, "return x.exp_()")) == ("inputs", "the reference changes its inputs")


def test_a_random_reference_is_refused(tmp_path: Path) -> None:
    check, message = refusal(admission(tmp_path, "return nn.functional.dropout(x, 0.5)"))
    assert check == "deterministic" and message.startswith("the reference's answers to the same inputs differ in the output by ")


def test_dropout_that_is_off_for_evaluation_is_no_randomness(tmp_path: Path) -> None:
    assert admission(tmp_path, "return nn.Dropout(0.5).train(self.training)(torch.tanh(x))").admitted
    assert admission(tmp_path, "return nn.functional.dropout(torch.tanh(x), 0.5, self.training)").admitted
    check, _ = refusal(admission(tmp_path, "return nn.functional.dropout(torch.tanh(x), 0.5, training=True)"))
    assert check == "deterministic"


@pytest.mark.parametrize("noise", ["torch.rand_like(x)", "torch.bernoulli(torch.sigmoid(x))", "nn.functional.rrelu(x, training=True)"])
def test_a_reference_that_draws_is_refused(tmp_path: Path, noise: str) -> None:
    assert refusal(admission(tmp_path, f"return torch.tanh(x) + {noise}"))[0] == "deterministic"


def test_a_reference_that_draws_integers_is_refused(tmp_path: Path) -> None:
    check, message = refusal(admission(tmp_path, "return torch.tanh(x), (x + torch.randint_like(x, 9)).long()"))
    assert check == "deterministic" and "output[1]" in message


@pytest.mark.parametrize(
    ("floor", "said"), [("{'reads': [1]}", "argument 1"), ("{'reads': ['w']}", "'w'"), ("{'writes': [3]}", "output 3")]
)
def test_a_floor_that_does_not_fit_is_refused(tmp_path: Path, floor: str, said: str) -> None:
    check, message = refusal(admission(tmp_path, "return torch.tanh(x)", assay=f"{{'floor': {floor}}}"))
    assert check == "floor" and said in message


def test_on_the_cpu_nothing_is_timed(tmp_path: Path) -> None:
    checked = admission(tmp_path, "return torch.tanh(x)", assay="{'floor': {'reads': 'all', 'operations': 1e18}}")
    assert checked.admitted and checked.floor_ms is checked.reference_ms is None


def test_a_reference_that_remembers_its_calls_is_refused(tmp_path: Path) -> None:
    check, _ = refusal(admission(tmp_path, "self.calls += 1; return x * self.calls"))
    assert check == "deterministic"


def test_a_reference_that_differs_from_itself_by_rounding_is_admitted(tmp_path: Path) -> None:
    assert admission(tmp_path, "self.calls += 1; return x.norm(dim=1) * (1 + 1e-6 * (self.calls % 2))").admitted


def test_an_answer_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    assert refusal(admission(tmp_path, "return torch.log(x.abs() - x.abs())")) == (
        "finite",
        "6400 of 6400 elements of the output are NaN or infinite",
    )
    check, message = refusal(admission(tmp_path, "return x, torch.where(x == x.max(), torch.nan, x)"))
    assert (check, message) == ("finite", "1 of 6400 elements of output[1] are NaN or infinite")


def test_a_reference_that_raises_is_refused(tmp_path: Path) -> None:
    check, message = refusal(admission(tmp_path, "return x @ x"))
    assert check == "runs" and message.startswith("the reference raised RuntimeError")


def test_a_reference_that_raises_on_another_distribution_is_refused_by_its_name(tmp_path: Path) -> None:
    forward, inputs = "return torch.sqrt(x) if (x >= 0).all() else 1 / 0", "1 + torch.rand(64, 100)"
    check, message = refusal(admission(tmp_path, forward, inputs))
    assert check == "runs" and "distribution 'signs'" in message
    assert admission(tmp_path, forward, inputs, "{'without': {'signs': 'a root', 'special': 'a root'}}").admitted


def test_where_the_reference_overflows_and_its_float64_form_does_not_nobody_is_judged(tmp_path: Path) -> None:
    assert admission(tmp_path, "return x.exp()").admitted


def test_an_answer_without_a_tensor_is_refused(tmp_path: Path) -> None:
    assert refusal(admission(tmp_path, "return 1.5")) == ("output", "the reference returns no tensor, or only empty ones")


def test_an_answer_whose_shape_hangs_on_the_values_is_refused(tmp_path: Path) -> None:
    assert refusal(admission(tmp_path, "return x[x > 0]")) == ("output", "the shapes of the answer change with the inputs' values")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.int32])
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("shape", [(), (40,), (8, 40)], ids=str)
def test_every_trivial_answer_to_an_ordinary_output_is_wrong(answer: str, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(5)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    oracle = torch.randn(shape, dtype=wide, generator=generator) * 3
    right, previous = oracle.to(dtype), (oracle - 1.37).to(dtype)
    if not shape and dtype.is_floating_point:
        right = torch.full_like(right, 2.0009765625)  # halfway between two numbers of float16, and of float8
    exact = right if is_exact(dtype) else right.to(wide)
    part = ANSWERS[answer].make(Known([torch.ones(shape), 3], right, previous))
    if part is None:
        assert answer in ("mean", "one row skipped", "half precision")
        return
    comparison = Comparison("", right.shape, dtype, False, 1.0)
    comparison.measure(OutputPiece(0, part(OutputPiece(0, right, right, exact)), right, exact))
    assert not comparison.passed

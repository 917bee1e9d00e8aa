"""Shipped problems are fit to judge by. Degenerate and unsound ones are refused, with the check that they fail."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from evaluator.judge.correctness.compare import Comparison, OutputPiece, Rules
from evaluator.judge.correctness.tolerance import is_exact
from evaluator.judge.problem_check.check import check_case
from evaluator.judge.problem_check.check_result import ProblemCheck
from evaluator.judge.problem_check.trivial_answers import ANSWERS, Known
from evaluator.problem.catalogue import discover
from evaluator.problem.load import load
from evaluator.problem.stored_inputs import StoredTensor

CPU = torch.device("cpu")
slow = pytest.mark.slow(35)

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
NORMAL = "torch.randn(64, 100)"


def checked(folder: Path, forward: str, inputs: str = NORMAL, assay: str = "{}") -> ProblemCheck:
    path = folder / "problem.py"
    path.write_text(FORM.format(forward=forward, inputs=inputs, assay=assay))
    return check_case(load(path).instance("full"), CPU)


def trivial(found: ProblemCheck) -> set[str]:
    """The trivial answers that passed, where nothing else was wrong."""
    assert {finding.check for finding in found.findings} <= {"trivial_answer"}, found.findings
    return {finding.answer for finding in found.findings}


@slow
@pytest.mark.parametrize(("name", "path"), discover([]).items())
def test_shipped_problems_are_admitted(name: str, path: Path) -> None:
    found = check_case(load(path).instance("small"), CPU)
    assert found.admitted, found.findings
    assert (found.problem, found.case, found.device) == (name, "small", "cpu")


POSITIVE, LEAKY = "torch.rand(64, 100)", "return torch.where(x > 0, x, 0.1 * x)"
ROOT = "return torch.sqrt(x) if (x >= 0).all() else 1 / 0"
SMALL_ROWS = "return torch.tanh(x) * torch.logspace(0, -9, len(x))[:, None] if len(x) == 64 else 1 / 0"


@pytest.mark.parametrize(
    ("forward", "inputs", "assay"),
    [
        pytest.param(LEAKY, POSITIVE, "{}", id="the identity on its own inputs alone"),
        pytest.param("return x.norm() * x[0, 0]", NORMAL, "{}", id="a scalar that varies"),
        pytest.param("return x.mean(dim=1)", "torch.randn(16, 100000)", "{}", id="a mean of many numbers", marks=slow),
        pytest.param(SMALL_ROWS, NORMAL, ROWS, id="small rows that are judged one by one"),
        pytest.param("return (x * 3).round().clamp(-9, 9)", NORMAL, "{}", id="whole numbers lose nothing in half precision"),
        pytest.param("return x.floor().long(), x > 0.5", NORMAL, "{}", id="integers and booleans"),
        pytest.param(
            "return (x / 0.3).floor().long()", "torch.rand(300, 1000) * 2000", "{}", id="a few integers that hang on rounding", marks=slow
        ),
        pytest.param("return nn.functional.dropout(torch.tanh(x), 0.5, self.training)", NORMAL, "{}", id="a dropout that is off"),
        pytest.param("self.calls += 1; return x.norm(dim=1) * (1 + 1e-6 * (self.calls % 2))", NORMAL, "{}", id="differs by rounding"),
        pytest.param(ROOT, "1 + " + POSITIVE, "{'without': {'signs': 'a root', 'special': 'a root'}}", id="distributions left out"),
        pytest.param("return x.exp()", NORMAL, "{}", id="overflows where its float64 form does not"),
    ],
)
def test_sound_problems_are_admitted(forward: str, inputs: str, assay: str, tmp_path: Path) -> None:
    found = checked(tmp_path, forward, inputs, assay)
    assert found.admitted, found.findings


@pytest.mark.parametrize(
    ("forward", "inputs", "assay", "answers"),
    [
        ("return x.mean().expand(64, 100)", NORMAL, "{}", {"mean"}),
        (LEAKY, POSITIVE, "{'without': {'signs': 'x', 'scaled': 'x'}}", {"copy of an input"}),
        ("return torch.linspace(1, 2, 6400).view(64, 100) + 1e-12 * torch.sigmoid(x)", NORMAL, "{}", {"previous output"}),
        # Such as losses that hang on the row's number: the small ones vanish beside the large ones.
        ("return torch.tanh(x) * torch.logspace(0, -9, 64)[:, None]", NORMAL, "{}", {"one row skipped"}),
        ("return torch.tanh(x)", NORMAL, '{"tolerance": 40.0}', {"half precision"}),
    ],
)
def test_problems_are_refused_for_just_these_trivial_answers(
    forward: str, inputs: str, assay: str, answers: set[str], tmp_path: Path
) -> None:
    assert trivial(checked(tmp_path, forward, inputs, assay)) == answers


@pytest.mark.parametrize(
    ("forward", "inputs", "assay", "answers"),
    [
        ("return x - x", NORMAL, "{}", {"zeros"}),
        ("return 1 + 1e-9 * torch.sigmoid(x)", NORMAL, "{}", {"ones", "mean", "previous output"}),
        ("return x.clone()", NORMAL, "{}", {"copy of an input"}),
        pytest.param(
            *("return x.mean(dim=1)", "torch.randn(16, 100000)", '{"tolerance": 20000.0}', {"zeros", "one row skipped", "half precision"}),
            marks=slow,
        ),
        ("return torch.tanh(x)", NORMAL, '{"tolerance": 30000.0}', {"one element off"}),
    ],
)
def test_problems_are_refused_for_these_trivial_answers_too(
    forward: str, inputs: str, assay: str, answers: set[str], tmp_path: Path
) -> None:
    assert answers <= trivial(checked(tmp_path, forward, inputs, assay))


def test_rows_that_are_rightly_zero_are_not_held_against_a_problem(tmp_path: Path) -> None:
    found = checked(tmp_path, "return torch.triu(2 * x, 40)")
    assert checked(tmp_path, "return torch.triu(x, 40)").findings == found.findings
    assert "one row skipped" not in trivial(found)


def test_a_trivial_answer_is_named_with_its_output_and_its_meaning(tmp_path: Path) -> None:
    (finding,) = checked(tmp_path, "return torch.tanh(x), {'count': torch.tensor(x.numel())}").findings
    assert finding.message == "previous output passes as output[1]['count']: the output does not depend on the inputs"
    assert finding.answer == "previous output"


@pytest.mark.parametrize(
    ("varied", "said"),
    [("x", "leaves the inputs from files as they are"), ("x + __import__('time').time_ns() % 10**9", "differently for the same seed")],
)
def test_inputs_from_files_vary_with_the_seed_alone(tmp_path: Path, varied: str, said: str) -> None:
    path = tmp_path / "problem.py"
    text = FORM.format(forward="return torch.tanh(x)", inputs=NORMAL, assay="{}")
    path.write_text(f"{text}\ndef vary_inputs(x):\n    return [{varied}]\n")
    case = replace(load(path).instance("full"), stored={0: StoredTensor("x", "x.safetensors", torch.randn(64, 100))})
    (finding,) = check_case(case, CPU).findings
    assert finding.check == "inputs" and said in finding.message


RANDOM = "the reference's outputs for the same inputs differ in the output by "


@pytest.mark.parametrize(
    ("forward", "inputs", "assay", "check", "said"),
    [
        ("return x * 2", "torch.arange(6400.0).view(64, 100)", "{}", "inputs", "two seeds give the same inputs"),
        ("return x * 2", NORMAL + " + __import__('time').time_ns() % 10**9", "{}", "inputs", "the same seed gives different inputs"),
        ("return torch.full((3,), float(x))", "2.5", "{}", "inputs", "get_inputs() returns no tensor"),
        ("return x.exp_()", NORMAL, "{}", "inputs", "the reference changes its inputs"),
        ("return nn.functional.dropout(torch.tanh(x), 0.5, training=True)", NORMAL, "{}", "deterministic", RANDOM),
        ("return torch.tanh(x), (x + torch.randint_like(x, 9)).long()", NORMAL, "{}", "deterministic", "output[1]"),
        ("self.calls += 1; return x * self.calls", NORMAL, "{}", "deterministic", RANDOM),
        ("return torch.tanh(x)", NORMAL, "{'floor': {'reads': [1]}}", "floor", "argument 1"),
        ("return torch.log(x.abs() - x.abs())", NORMAL, "{}", "finite", "6400 of 6400 elements of the output are NaN or infinite"),
        ("return x, torch.where(x == x.max(), torch.nan, x)", NORMAL, "{}", "finite", "1 of 6400 elements of output[1] are NaN"),
        ("return x @ x", NORMAL, "{}", "runs", "the reference raised RuntimeError"),
        (ROOT, "1 + " + POSITIVE, "{'inputs': 'any'}", "runs", "distribution 'signs'"),
        ("return 1.5", NORMAL, "{}", "output", "the reference returns no tensor, or only empty ones"),
        ("return x[x > 0]", NORMAL, "{}", "output", "the shapes of the output change with the inputs' values"),
        ("return x / 3 * 3 == x", NORMAL, "{}", "oracle", "the output of the reference itself is wrong_values against its float64 form"),
    ],
)
def test_unsound_problems_are_refused_with_the_check_that_they_fail(
    forward: str, inputs: str, assay: str, check: str, said: str, tmp_path: Path
) -> None:
    found = checked(tmp_path, forward, inputs, assay)
    (finding,) = found.findings
    assert not found.admitted and (finding.check, finding.answer) == (check, "") and said in finding.message


def test_on_the_cpu_nothing_is_timed(tmp_path: Path) -> None:
    found = checked(tmp_path, "return torch.tanh(x)", assay="{'floor': {'reads': 'all', 'operations': 1e18}}")
    assert found.admitted and found.floor_ms is found.reference_ms is None


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
    comparison = Comparison("", right.shape, dtype, Rules())
    comparison.measure(OutputPiece(0, part(OutputPiece(0, right, right, exact)), right, exact))
    assert not comparison.passed

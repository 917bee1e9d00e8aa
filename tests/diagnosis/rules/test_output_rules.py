"""Verdicts from the figures of a failed round."""

from typing import Literal

import pytest
import torch
from torch.nn import functional

from evaluator.approximations.known_cause import known_cause
from evaluator.diagnosis import diagnose
from evaluator.diagnosis.rules.output_rules import suspicions
from evaluator.judge.correctness.check import describe_error
from evaluator.judge.correctness.compare import Comparison, OutputPiece, Rules
from evaluator.judge.correctness.tolerance import base_tolerance
from evaluator.results.category import Category
from evaluator.results.distributions import DISTRIBUTIONS
from evaluator.results.evidence import ErrorFigures, Evidence, ParametersEvidence, RoundEvidence, ShapeEvidence
from tests.diagnosis.evidence import CPU, Rule, check, failed, passed

WRONG_ELSEWHERE = ShapeEvidence(
    case="odd", declared=False, inputs=("float32[3]",), right=False, category=Category.WRONG_VALUES, message="so"
)
RULES: dict[str, Rule] = {
    "a round of another distribution": (
        {"rounds": (passed(0), failed(Category.WRONG_VALUES, 2).model_copy(update={"distribution": "signs"}))},
        Category.WRONG_VALUES,
        "round 3, distribution 'signs': so",
    ),
    "the first failed round": (
        {"rounds": (passed(0), failed(Category.NAN_OR_INF, 1), failed(Category.WRONG_VALUES, 2))},
        Category.NAN_OR_INF,
        "round 2: so",
    ),
    "what it equals is told first, and nothing is guessed": (
        {
            "rounds": (
                failed(Category.PRECISION_LOSS).model_copy(update={"cause": "the reference with GELU's tanh approximation, to 2e-07"}),
            )
        },
        Category.PRECISION_LOSS,
        "round 1: it equals the reference with GELU's tanh approximation, to 2e-07; so",
    ),
    "wrong in other shapes": (
        {**CPU, "strict_shapes": True, "shapes": (WRONG_ELSEWHERE,)},
        Category.SHAPE_SPECIFIC,
        "wrong in the shapes 'odd' (float32[3]): wrong_values: so",
    ),
    "wrong in other shapes, which nobody asked for": ({**CPU, "shapes": (WRONG_ELSEWHERE,)}, Category.OK, ""),
}
GENERATOR = torch.Generator().manual_seed(5)
RIGHT = torch.rand(64, 256, generator=GENERATOR, dtype=torch.float64) + 0.5


@pytest.mark.parametrize("name", RULES)
def test_evidence_gives_its_verdict(name: str) -> None:
    check(RULES[name])


def message(
    answer: torch.Tensor,
    distribution: str = "own",
    right: torch.Tensor = RIGHT,
    kind: Literal["cpu", "cuda"] | None = None,
    cause: str = "",
) -> str:
    """What is said of a float32 answer, judged as it would be in a round."""
    comparison = Comparison("", right.shape, torch.float32, Rules())
    piece = OutputPiece(0, answer.float(), right.float(), right)
    comparison.measure(piece)
    comparison.locate(piece)
    figures = comparison.figures()
    round_ = RoundEvidence(
        index=0,
        seed=1,
        distribution=distribution,
        passed=False,
        category=comparison.category,
        message=describe_error(figures),
        outputs=(figures,),
        cause=cause,
    )
    return diagnose(Evidence(device_kind=kind, rounds=(round_,))).message


def test_an_answer_in_half_precision() -> None:
    assert "every value is a number of float16" in message(RIGHT.half())
    said = message(RIGHT.bfloat16())
    assert "every value is a number of bfloat16" in said and "rounded to half precision on its way" in said


@pytest.mark.parametrize(
    ("noise", "on_gpu", "on_cpu"),
    [
        (8e-4, "half precision or TF32 in products", "half precision in products"),
        (3e-4, "fast-math functions (__expf, --use_fast_math)", "an approximate formula"),
    ],
)
def test_an_error_has_the_causes_of_its_size_and_device(noise: float, on_gpu: str, on_cpu: str) -> None:
    answer = RIGHT * (1 + noise * (torch.rand(RIGHT.shape, generator=GENERATOR) - 0.5))
    assert f"possible causes: {on_gpu}" in message(answer, kind="cuda")
    told = message(answer, kind="cpu")
    assert f"possible causes: {on_cpu}" in told and not any(word in told for word in ("TF32", "__expf", "use_fast_math"))


def test_a_variance_by_two_means_of_nearly_equal_numbers() -> None:
    x = 3 + torch.randn(512, 128, 2, generator=GENERATOR)
    variance, mean = torch.var_mean(x.double(), 2, correction=0, keepdim=True)
    own_mean = x.mean(2, keepdim=True)
    own_variance = (x.square().mean(2, keepdim=True) - own_mean.square()).clamp_min(0)
    said = message((x - own_mean) / (own_variance + 1e-3).sqrt(), right=(x - mean) / (variance + 1e-3).sqrt())
    assert "possible causes: cancellation, as in a variance by E[x²] - E[x]²" in said and "half" not in said


@pytest.mark.parametrize("kind", ["cpu", "cuda", None])
def test_gelu_by_tanh_is_called_that_and_nothing_else(kind: Literal["cpu", "cuda"] | None) -> None:
    x = torch.randn(64, 256, generator=GENERATOR)
    answer, right = functional.gelu(x, approximate="tanh"), functional.gelu(x.double())
    cause = known_cause(torch.nn.GELU(), [x], [answer], 0, base_tolerance(torch.float32))
    said = message(answer, right=right, kind=kind, cause=cause)
    assert said.startswith("round 1: it equals the reference with GELU's tanh approximation, to ")
    assert not any(word in said for word in ("possible", "TF32", "half", "fast"))
    assert "TF32" not in message(answer, right=right, kind="cpu")


def test_a_constant_factor_is_blamed_on_no_rounding() -> None:
    said = message(RIGHT * 1.0017)
    assert "each is 1.0017 times what is expected" in said and "possible" not in said


def test_a_softmax_that_forgets_the_maximum() -> None:
    x = torch.rand(8, 300, generator=GENERATOR) + 100
    naive = x.exp() / x.exp().sum(1, keepdim=True)
    said = message(naive, "shifted", x.double().softmax(1))
    assert "subtract the row's maximum before exp()" in said
    assert "2400 are NaN or infinite" in said


def test_uninitialised_memory() -> None:
    answer = RIGHT.clone()
    answer[31, 100:200] = 3e30
    said = message(answer)
    assert "one stretch of 100" in said and "uninitialised memory, or a read out of bounds" in said and "tail" not in said


@pytest.mark.parametrize(
    ("rows", "columns", "pattern"),
    [
        (slice(63, 64), slice(200, 256), "a tail of 56"),
        (slice(None), slice(252, 256), "whole columns: the last 4"),
        (slice(60, 64), slice(None), "a tail of 1024"),
        (slice(62, 64), slice(250, 256), "columns the last 6; rows the last 2"),
    ],
)
def test_an_uninitialised_tail(rows: slice, columns: slice, pattern: str) -> None:
    for value in (3e30, 0.0):
        answer = RIGHT.clone()
        answer[rows, columns] = value
        said = message(answer)
        assert pattern in said and "like an uninitialised tail" in said


def test_a_tail_of_values_that_are_merely_wrong_was_computed() -> None:
    answer = RIGHT.clone()
    answer[60:] *= 1 + torch.rand(4, 256, generator=GENERATOR)
    said = message(answer)
    assert "a tail of 1024" in said and "uninitialised" not in said


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (RIGHT * 2, "each is 2 times what is expected"),
        (-RIGHT, "each is -1 times what is expected"),
        (RIGHT + 0.25, "each is +0.25 away from what is expected"),
        (torch.zeros_like(RIGHT), "all of them are 0"),
        (torch.full_like(RIGHT, 7.0), "all of them are 7"),
    ],
)
def test_likeness(answer: torch.Tensor, words: str) -> None:
    assert words in message(answer)


def test_few_elements_that_are_never_written_are_blamed_on_no_rounding() -> None:
    figures = ErrorFigures(
        output="", elements=1000, wrong=1, max_error=2e-3, rms_error=4e-4, tolerance=4e-5, reference_error=0.0, pattern="isolated"
    )
    unwritten, rounded = (
        suspicions(RoundEvidence(index=0, seed=1, passed=False, category=category, outputs=(figures,)), "cpu")
        for category in (Category.UNWRITTEN_OUTPUT, Category.WRONG_VALUES)
    )
    assert not unwritten and rounded[0].startswith("possible causes: half precision")


def test_right_values_that_are_half_precision_numbers_themselves_say_nothing() -> None:
    whole = torch.randint(1, 50, (64, 64), generator=GENERATOR).double()
    assert "number of" not in message(whole.roll(1, 1), right=whole)


def test_a_distribution_is_explained_where_it_showed_the_mistake() -> None:
    assert "negative branch" in message(RIGHT.abs() * 1.5 + torch.rand(RIGHT.shape, generator=GENERATOR), "signs")
    assert [name for name, distribution in DISTRIBUTIONS.items() if not distribution.suspicion] == ["own"]


def test_a_round_that_failed_by_its_shape_suggests_nothing() -> None:
    round_ = RoundEvidence(index=1, seed=1, distribution="signs", passed=False, category=Category.WRONG_SHAPE, message="so")
    assert diagnose(Evidence(rounds=(round_,))).message == "round 2, distribution 'signs': so"


UNLIKE: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "one of its shape": (
        ("weight (64, 32)",),
        ("linear.bias (64,)", "linear.weight (64, 32)"),
        "its parameter 'weight' (64, 32) matches no reference parameter by name or values; the reference has linear.weight (64, 32): "
        "construct the same layers in the same order, or use its name",
    ),
    "the nearest name of that shape": (
        ("bn_weight (8,)", "fc_bias (8,)"),
        ("fc.bias (8,)", "bn.weight (8,)", "bn.bias (8,)"),
        "its parameters 'bn_weight' (8,), 'fc_bias' (8,) match no reference parameter by name or values; the reference has "
        "bn.weight (8,), fc.bias (8,): construct the same layers in the same order, or use their names",
    ),
    "none of its shape": (("w (32, 64)",), ("linear.weight (64, 32)",), "the reference has linear.weight (64, 32): construct"),
    "none missing": (
        ("scale ()",),
        (),
        "its parameter 'scale' () matches no reference parameter by name or values: construct",
    ),
    "only missing": (
        (),
        ("linear.weight (64, 32)",),
        "reference parameter linear.weight (64, 32) has no counterpart here",
    ),
    "many": (
        tuple(f"w{number} (2,)" for number in range(5)),
        tuple(f"layers.{number} (2,)" for number in range(5)),
        "'w0' (2,), 'w1' (2,), 'w2' (2,) and 2 others match no",
    ),
}
"""Parameters without a counterpart on either side, and words of what is said."""


def unlike(name: str = "one of its shape", **changes: object) -> str:
    unmatched, missing, _ = UNLIKE[name]
    round_ = failed(Category.WRONG_VALUES).model_copy(update=changes)
    parameters = ParametersEvidence(source="copied", unmatched=unmatched, missing=missing)
    return diagnose(Evidence(parameters=parameters, rounds=(round_,))).message


@pytest.mark.parametrize("name", UNLIKE)
def test_parameters_without_a_counterpart_are_told_first(name: str) -> None:
    said = unlike(name)
    assert UNLIKE[name][2] in said and said.endswith("so") and "; so" in said
    assert said.startswith(("round 1: its parameter", "round 1: reference parameter"))


def test_parameters_are_told_only_where_they_may_matter() -> None:
    for changes in (
        {"distribution": "signs"},
        {"category": Category.WRONG_SHAPE},
        {"category": Category.NONDETERMINISTIC},
        {"cause": "it"},
    ):
        assert "parameter" not in unlike(**changes)
    matched = Evidence(parameters=ParametersEvidence(source="copied", kept=("w",)), rounds=(failed(Category.WRONG_VALUES),))
    assert diagnose(matched).message == "round 1: so"

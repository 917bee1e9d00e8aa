"""Products that have to be in FP8: what leaves that type is wrong, is named, and has a problem refused that can't tell it."""

from pathlib import Path

import pytest
import torch
from torch import nn

from evaluator.judge.correctness.check import judge_values
from evaluator.judge.correctness.errors.compute_rule import DISGUISES, broken_rule, disguised, rounds_to_float8
from evaluator.judge.correctness.oracle.reference import Oracle, widened
from evaluator.judge.correctness.outcome import Right, Wrong
from evaluator.judge.problem_check.check import check_case
from evaluator.problem.catalogue import discover
from evaluator.problem.load import load
from evaluator.results.category import Category

CPU = torch.device("cpu")
CASE = load(discover()["fp8_matmul"]).instance("small")
FORM = """
import torch
from torch import nn

ASSAY = {{"compute": "fp8"}}

class Model(nn.Module):
    def forward(self, x, weight):
        return {product}

def get_inputs():
    return [torch.randn(64, 160, dtype=torch.{dtype}), torch.randn(200, 160) / 160**0.5]

def get_init_inputs():
    return []
"""
ROUNDED = "(x.to(torch.promote_types(x.dtype, torch.float32)).mul(4).to(torch.float8_e4m3fn).to(weight.dtype) @ weight.t()).to(x.dtype)"


def wide(argument: object) -> object:
    return widened(argument, torch.float64)


def in_sixteen_bits(model: nn.Module, x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Products of the codes themselves, which are exact in bfloat16, and scales on the sums of blocks."""
    block = CASE.module.block
    assert model.block == block
    groups = x.float().view(len(x), -1, block)
    largest = groups.abs().amax(2, keepdim=True) / 448
    mantissa = torch.frexp(largest).mantissa
    own = largest / torch.where(mantissa == 0.5, 1.0, mantissa)
    codes = (groups / own).to(torch.float8_e4m3fn).bfloat16().float()
    sums = torch.einsum("rgk,cgk->rcg", codes, weight.bfloat16().float().view(len(weight), -1, block))
    answer: torch.Tensor = (sums * own.mT * scale.repeat_interleave(block, 0)[: len(weight)]).sum(2).half()
    return answer


@pytest.mark.slow(15)
@pytest.mark.parametrize(("number", "category"), [(0, Category.WRONG_VALUES), (1, Category.PRECISION_LOSS)])
def test_a_disguise_is_wrong_and_named(number: int, category: Category) -> None:
    model, inputs = CASE.model(1), CASE.inputs(2, CPU)
    oracle = Oracle(model, CASE.rows_independent)
    answer = [answers[0].half() for _, answers in disguised(CASE.model(1).double(), [wide(value) for value in inputs])][number]
    judged = judge_values(CASE, oracle, inputs, [answer], oracle.expected(inputs))
    assert isinstance(judged, Wrong) and judged.category is category
    assert oracle.wide_model is not None
    assert DISGUISES[number].what in broken_rule(oracle.wide_model, inputs, answer, 0, wide)


def test_other_answers_are_no_disguise() -> None:
    model, inputs = CASE.model(1), CASE.inputs(2, CPU)
    right = model(*inputs)
    for answer in (right, right * 1.05, torch.zeros_like(right)):
        assert broken_rule(CASE.model(1).double(), inputs, answer, 0, wide) == ""


def test_the_codes_own_products_in_sixteen_bits_are_right() -> None:
    model, inputs = CASE.model(1), CASE.inputs(2, CPU)
    oracle = Oracle(model, CASE.rows_independent)
    answer = in_sixteen_bits(model, *inputs)
    assert isinstance(judge_values(CASE, oracle, inputs, [answer], oracle.expected(inputs)), Right)


def test_rounding_to_float8_is_seen() -> None:
    assert rounds_to_float8(CASE.model(1), CASE.inputs(2, CPU))
    assert not rounds_to_float8(nn.Linear(4, 4), [torch.randn(2, 4)])


@pytest.mark.parametrize(
    ("product", "dtype", "said"),
    [
        (ROUNDED, "float16", []),
        (ROUNDED, "bfloat16", ["the reference with its operands turned back into bfloat16 passes"]),
        ("(x.to(weight.dtype) @ weight.t()).to(x.dtype)", "float16", ["the reference rounds nothing to float8"]),
    ],
)
def test_a_problem_that_cannot_tell_is_refused(product: str, dtype: str, said: list[str], tmp_path: Path) -> None:
    path = tmp_path / "product.py"
    path.write_text(FORM.format(product=product, dtype=dtype))
    findings = check_case(load(path).instance("full"), CPU).findings
    assert [finding.check for finding in findings] == ["compute"] * len(said)
    assert all(words in finding.message for words, finding in zip(said, findings, strict=True))


def test_inputs_of_eight_bits_may_have_the_shape_of_others() -> None:
    square = load(discover()["fp8_matmul"]).instance("small")
    vars(square.module).update(rows=square.module.inner, columns=square.module.inner)
    assert check_case(square, CPU).admitted

"""The reference with float64 values: each tensor keeps its dtype, casts round, and everything else does not."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from evaluator.judge.correctness.oracle.wide import WideModel, WideOutput
from tests.judge.correctness.oracle.rounded_problems import Reference


def wide(function: Callable[..., Any], *inputs: torch.Tensor, **parameters: torch.Tensor) -> list[WideOutput]:
    return WideModel(Reference(lambda _, *given: function(*given), parameters))(inputs)


def test_operators_round_nothing() -> None:
    x = torch.rand(1000)
    (output,) = wide(lambda x: (x / 3).sqrt() * 7, x)
    assert torch.allclose(output.values, (x.double() / 3).sqrt() * 7, rtol=1e-15, atol=0.0)
    assert output.rounded_to is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.int8])
def test_a_cast_rounds(dtype: torch.dtype) -> None:
    x = torch.randn(1000) * 20
    (output,) = wide(lambda x: (x / 3).to(dtype).float(), x)
    assert torch.equal(output.values, (x.double() / 3).to(dtype).double())
    assert output.rounded_to is (None if dtype is torch.int8 else dtype)


def test_inputs_of_a_narrow_type_are_no_roundings() -> None:
    (output,) = wide(lambda x: x.float().exp(), torch.randn(100).bfloat16())
    assert output.rounded_to is None


def test_each_output_has_its_own_roundings() -> None:
    outputs = wide(lambda x: (x.exp(), x.half().float().exp()), torch.randn(100))
    assert [output.rounded_to for output in outputs] == [None, torch.float16]


def test_a_reference_that_asks_for_dtypes_learns_its_own() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        assert x.dtype is torch.bfloat16
        y = x.float() * 3
        assert y.dtype is torch.float32
        return y.to(x.dtype)

    x = torch.randn(100).bfloat16()
    (output,) = wide(forward, x)
    assert torch.equal(output.values, (x.double() * 3).bfloat16().double())


def test_what_is_written_into_a_buffer_is_rounded_as_it_is() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        kept = torch.zeros(4, 8, dtype=torch.float16)
        kept[:, 2:6] = x
        kept[1].add_(1)
        return kept.float()

    x = torch.rand(4, 4)
    (output,) = wide(forward, x)
    expected = torch.zeros(4, 8, dtype=torch.float64)
    expected[:, 2:6] = x.half().double()
    expected[1] += 1
    assert torch.equal(output.values, expected)
    assert output.rounded_to is torch.float16


def test_neither_the_model_nor_the_inputs_are_changed() -> None:
    model = Reference(lambda model, x: model.kept.add_(x.mul_(2)), {"kept": torch.zeros(3)})
    x = torch.ones(3)
    outputs = WideModel(model)([x])
    assert torch.equal(outputs[0].values, torch.full((3,), 2.0, dtype=torch.float64))
    assert torch.equal(x, torch.ones(3)) and not dict(model.named_buffers())["kept"].any()


def test_operands_of_several_types_run() -> None:
    q, k, v = (torch.randn(2, 9, 8).half() for _ in range(3))
    (output,) = wide(lambda q, k, v: torch.softmax((q @ k.mT).float(), -1).half() @ v, q, k, v)
    expected = torch.softmax(q.double() @ k.double().mT, -1).half().double() @ v.double()
    assert torch.allclose(output.values, expected, rtol=1e-12, atol=0.0)


def test_an_operator_without_float64_runs_in_its_own_types() -> None:
    @torch.library.custom_op("assay_test::thrice", mutates_args=())
    def thrice(x: torch.Tensor) -> torch.Tensor:
        if x.dtype is not torch.float32:
            raise RuntimeError('"thrice" not implemented for Double')
        return x * 3

    x = torch.rand(100)
    (output,) = wide(lambda x: thrice(x) / 7, x)
    assert torch.equal(output.values, (x * 3).double() / 7)


@pytest.mark.parametrize(
    "module",
    [nn.GRU(8, 8, batch_first=True), nn.TransformerEncoderLayer(8, 2, batch_first=True).eval(), nn.MultiheadAttention(8, 2)],
    ids=str,
)
def test_whole_modules_run(module: nn.Module) -> None:
    x = torch.randn(2, 5, 8)
    given = (x, x, x) if isinstance(module, nn.MultiheadAttention) else (x,)
    model = Reference(lambda model, *given: model.inner(*given), {})
    model.inner = module
    with torch.no_grad():
        expected = module(*given)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for output, right in zip(WideModel(model)(given), expected, strict=True):
        assert torch.allclose(output.values.float(), right, atol=1e-5)


def test_an_autocast_rounds_operands() -> None:
    x, weight = torch.randn(8, 16), torch.randn(4, 16)

    def forward(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return functional.linear(x, weight)

    (output,) = wide(forward, x)
    assert torch.allclose(output.values, x.bfloat16().double() @ weight.bfloat16().double().T, rtol=1e-12, atol=1e-12)
    assert output.rounded_to is torch.bfloat16

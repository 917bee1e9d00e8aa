"""The shipped problems: sound, honest in their sizes, and with answers that can't be guessed."""

from typing import Any

import pytest
import torch

from evaluator.problem import ProblemCase, discover, load

PROBLEMS = discover()
FULL_SHAPES = {
    "attention": ([(16, 16, 2048, 64)] * 3, [(16, 16, 2048, 64)]),
    "conv2d": ([(32, 64, 256, 256)], [(32, 128, 256, 256)]),
    "cross_entropy": ([(32768, 16384), (32768,)], [()]),
    "embedding": ([(256, 1024)], [(256, 1024, 1024)]),
    "gelu_tanh": ([(8192, 8192)], [(8192, 8192)]),
    "layer_norm": ([(64, 1024, 4096)], [(64, 1024, 4096)]),
    "leaky_relu": ([(4096, 393216)], [(4096, 393216)]),
    "matmul": ([(4096, 4096)] * 2, [(4096, 4096)]),
    "rms_norm": ([(32768, 8192)], [(32768, 8192)]),
    "softmax": ([(4096, 393216)], [(4096, 393216)]),
    "sum_reduction": ([(128, 4096, 1023)], [(128, 1, 1023)]),
    "topk": ([(4096, 16384)], [(4096, 32), (4096, 32)]),
}
each_problem = pytest.mark.parametrize("name", PROBLEMS)


def case_of(name: str, case: str = "small") -> ProblemCase:
    return load(PROBLEMS[name]).instance(case)


def outputs(model: torch.nn.Module, inputs: list[Any]) -> list[torch.Tensor]:
    with torch.no_grad():
        answer = model(*inputs)
    return list(answer) if isinstance(answer, tuple) else [answer]


def widened(inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.double() if tensor.is_floating_point() else tensor for tensor in inputs]


def relative_error(value: torch.Tensor, right: torch.Tensor) -> float:
    """RMS of the difference over the RMS of what is right."""
    value, right = value.double(), right.double()
    return float((value - right).square().mean().sqrt() / right.square().mean().sqrt())


def test_these_are_all() -> None:
    assert set(FULL_SHAPES) == set(PROBLEMS)


@each_problem
def test_the_full_case_has_these_shapes_and_fills_a_large_gpu_without_flooding_it(name: str) -> None:
    case = case_of(name, "full")
    inputs = case.inputs(1, "meta")
    answers = outputs(case.model(1, "meta"), inputs)
    assert ([tuple(each.shape) for each in inputs], [tuple(each.shape) for each in answers]) == FULL_SHAPES[name]
    assert 50e6 < sum(each.nbytes for each in (*inputs, *answers)) < 14e9


@each_problem
def test_the_small_case_runs_in_its_dtype_and_in_float64(name: str) -> None:
    case = case_of(name)
    inputs = case.inputs(1, "cpu")
    narrow, wide = outputs(case.model(1), inputs), outputs(case.model(1).double(), widened(inputs))
    for value, right in zip(narrow, wide, strict=True):
        assert value.dtype is (case.dtype or torch.float32) if value.is_floating_point() else torch.int64
        assert torch.isfinite(value).all()
        assert relative_error(value, right) < (2e-3 if case.dtype is torch.float16 else 1e-5)


@each_problem
def test_answers_differ_with_the_seed_and_are_no_constant(name: str) -> None:
    case = case_of(name)
    (first, second) = (case.inputs(seed, "cpu") for seed in (1, 2))
    model = case.model(1)
    assert all(not torch.equal(one, other) for one, other in zip(first, second, strict=True))
    for one, other in zip(outputs(model, first), outputs(model, second), strict=True):
        assert relative_error(one, other) > 0.05
        assert relative_error(torch.full_like(other, float(other.double().mean())), other) > 0.05 or other.numel() == 1


@each_problem
def test_no_input_is_the_answer(name: str) -> None:
    case = case_of(name)
    inputs = case.inputs(1, "cpu")
    for answer in outputs(case.model(1), inputs):
        for given in inputs:
            assert given.shape != answer.shape or relative_error(given, answer) > 0.05


@each_problem
def test_rows_declared_independent_are(name: str) -> None:
    case = case_of(name)
    if not case.rows_independent:
        inputs = case.inputs(1, "cpu")
        answers = outputs(case.model(1), inputs)
        assert name in ("matmul", "cross_entropy"), f"{name} could declare rows_independent"
        assert {len(tensor) if tensor.dim() else 0 for tensor in (*inputs, *answers)} != {len(inputs[0])}
        return
    model, inputs = case.model(1).double(), widened(case.inputs(1, "cpu"))
    whole, piece = outputs(model, inputs), outputs(model, [tensor[1:3] for tensor in inputs])
    for all_rows, some_rows in zip(whole, piece, strict=True):
        assert torch.allclose(all_rows[1:3], some_rows, rtol=1e-12, atol=1e-14)


@each_problem
def test_parameters_matter(name: str) -> None:
    """A parameter at a value that does nothing, such as a weight of one, could be left out of an answer unnoticed."""
    case = case_of(name)
    inputs = case.inputs(1, "cpu")
    right = outputs(case.model(1), inputs)[0]
    for parameter in case.model(1).state_dict():
        model = case.model(1)
        state = model.state_dict()
        state[parameter].fill_(1.0 if parameter.endswith("weight") else 0.0)
        assert relative_error(outputs(model, inputs)[0], right) > 0.01, parameter


def test_rows_of_topk_have_no_ties() -> None:
    x = case_of("topk").inputs(1, "cpu")[0].sort(dim=1).values
    assert (x[:, 1:] > x[:, :-1] * (1 + 1e-6)).all()

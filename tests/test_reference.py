"""The shipped problems: they load, their sizes are useful, and their outputs can't be guessed."""

from typing import Any

import pytest
import torch

from evaluator.problem.catalogue import discover
from evaluator.problem.load import load
from evaluator.problem.problem import ProblemCase
from evaluator.worker.nested import mapped, tensors_of

pytestmark = pytest.mark.slow(10)

PROBLEMS = discover()
Shapes = list[tuple[int, ...]]
_IMAGES = (64, 256, 112, 112)
FULL_SHAPES: dict[str, tuple[Shapes, Shapes]] = {
    "adamw_step": ([(1 << 27,)] * 4, [(1 << 27,)] * 3),
    "add_rms_norm": ([(16384, 8192)] * 2, [(16384, 8192)] * 2),
    "argmax": ([(128, 4096, 1023)], [(128, 1023)]),
    "attention": ([(16, 16, 2048, 64)] * 3, [(16, 16, 2048, 64)]),
    "batch_norm_inference": ([_IMAGES], [_IMAGES]),
    "batch_norm_training": ([(64, 256, 56, 56)], [(64, 256, 56, 56)]),
    "batched_matmul": ([(256, 512, 512)] * 2, [(256, 512, 512)]),
    "bias_residual_relu": ([(32768, 4096)] * 2, [(32768, 4096)]),
    "causal_attention": ([(8, 16, 2048, 64)] * 3, [(8, 16, 2048, 64)]),
    "causal_conv1d": ([(32, 4096, 4096)], [(32, 4096, 4096)]),
    "conv2d": ([(32, 64, 256, 256)], [(32, 128, 256, 256)]),
    "cross_entropy": ([(32768, 16384), (32768,)], [()]),
    "cross_entropy_backward": ([(8192, 32000), (8192,), (8192,)], [(8192, 32000)]),
    "cumsum": ([(16384, 16384)], [(16384, 16384)]),
    "decode_attention": ([(64, 32, 1, 128), (64, 8, 4096, 128), (64, 8, 4096, 128)], [(64, 32, 1, 128)]),
    "depthwise_conv2d": ([_IMAGES], [_IMAGES]),
    "embedding": ([(256, 1024)], [(256, 1024, 1024)]),
    "embedding_bag": ([(262_144, 32)], [(262_144, 128)]),
    "fp8_matmul": ([(4096, 4096), (4096, 4096), (32, 32)], [(4096, 4096)]),
    "gelu_tanh": ([(8192, 8192)], [(8192, 8192)]),
    "group_norm": ([(32, 256, 128, 128)], [(32, 256, 128, 128)]),
    "kl_divergence": ([(16384, 16384)] * 2, [(16384,)]),
    "layer_norm": ([(64, 1024, 4096)], [(64, 1024, 4096)]),
    "leaky_relu": ([(4096, 393216)], [(4096, 393216)]),
    "linear_gelu": ([(8192, 4096)], [(8192, 4096)]),
    "linear_recurrence": ([(16, 2048, 2048)] * 2, [(16, 2048, 2048)]),
    "log_softmax": ([(16384, 32000)], [(16384, 32000)]),
    "masked_softmax": ([(64, 2048, 2048)], [(64, 2048, 2048)]),
    "matmul": ([(4096, 4096)] * 2, [(4096, 4096)]),
    "matvec": ([(32768, 16384), (16384,)], [(32768,)]),
    "max_pool2d": ([(64, 128, 224, 224)], [(64, 128, 112, 112)]),
    "mish": ([(8192, 16384)], [(8192, 16384)]),
    "moe": ([(8192, 2048), (8192, 4), (8192, 4)], []),
    "mse_loss": ([(16384, 16384)] * 2, [()]),
    "paged_attention": ([(32, 32, 128), (8192, 16, 8, 128), (8192, 16, 8, 128), (32, 384), (32,)], [(32, 32, 128)]),
    "quantised_matmul": ([(64, 8192), (28672, 8192), (28672,)], [(64, 28672)]),
    "rms_norm": ([(32768, 8192)], [(32768, 8192)]),
    "rms_norm_backward": ([(8192, 4096)] * 2, [(8192, 4096), (8192, 4096), (4096,)]),
    "rms_norm_fp8": ([(32768, 8192)], [(32768, 8192), (32768,)]),
    "rms_norm_sizes": ([(4096, 8192)], [(4096, 8192)]),
    "rope": ([(16, 32, 2048, 128)], [(16, 32, 2048, 128)]),
    "rope_qk_norm": ([(32768, 32, 128), (32768, 8, 128), (32768,)], [(32768, 32, 128), (32768, 8, 128)]),
    "row_statistics": ([(32768, 16384)], [(32768,)] * 4),
    "selective_scan": ([(8, 512, 2048), (8, 512, 2048), (8, 512, 16), (8, 512, 16)], [(8, 512, 2048)]),
    "small_matmul": ([(500_000, 16, 16)] * 2, [(500_000, 16, 16)]),
    "softmax": ([(4096, 393216)], [(4096, 393216)]),
    "sort_rows": ([(8192, 4096)], [(8192, 4096)] * 2),
    "sum_reduction": ([(128, 4096, 1023)], [(128, 1, 1023)]),
    "swiglu": ([(16384, 16384)], [(16384, 8192)]),
    "swiglu_mlp": ([(4096, 4096)], [(4096, 4096)]),
    "tensor_parallel_mlp": ([(512, 4096)] * 8, [(512, 4096)] * 8),
    "top_p_sampling": ([(512, 128256)] * 2, [(512,)]),
    "topk": ([(4096, 16384)], [(4096, 32), (4096, 32)]),
    "transformer_block": ([(8, 1024, 1024)], [(8, 1024, 1024)]),
    "transpose": ([(16384, 12288)], [(12288, 16384)]),
    "w4a16_matmul": ([(32, 8192), (28672, 4096), (28672, 64)], [(32, 28672)]),
}
WITHOUT_SHAPES = {"moe"}
"""Problems whose reference looks at values, and so has no answer without memory."""
DEPENDENT = {
    *("batch_norm_training", "cross_entropy", "fp8_matmul", "matmul", "matvec", "mse_loss", "paged_attention", "quantised_matmul"),
    *("rms_norm_backward", "transpose", "w4a16_matmul"),
}
"""Problems in which a row of an answer hangs on other rows of the inputs."""
OTHER_TYPES = {"fp8_matmul": (torch.float16,), "rms_norm_fp8": (torch.uint8, torch.float32)}
"""Types of answers that are neither the case's nor int64."""
CATEGORIES = {
    *("elementwise", "activation", "normalization", "softmax", "reduction", "scan", "loss", "pooling", "convolution", "matmul", "batched"),
    *("small", "fused", "attention", "embedding", "sort", "quantised", "transformer", "optimizer", "position", "backward", "memory"),
    *("fp8", "moe", "paged", "sampling", "parallel"),
}
"""What people optimise: there is a problem of each."""
each_problem = pytest.mark.parametrize("name", PROBLEMS)


def case_of(name: str, case: str = "small") -> ProblemCase:
    return load(PROBLEMS[name]).instance(case)


def outputs(model: torch.nn.Module, inputs: list[Any]) -> list[torch.Tensor]:
    with torch.no_grad():
        return flat(model(*inputs))


def flat(value: Any) -> list[torch.Tensor]:
    return [tensor for _, tensor in tensors_of(value)]


def widened(inputs: list[Any]) -> Any:
    return mapped(inputs, lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)


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
    answers = [] if name in WITHOUT_SHAPES else outputs(case.model(1, "meta"), inputs)
    parameters = list(case.model(1, "meta").parameters())
    assert ([tuple(each.shape) for each in flat(inputs)], [tuple(each.shape) for each in answers]) == FULL_SHAPES[name]
    assert 50e6 < sum(each.nbytes for each in (*flat(inputs), *answers, *parameters)) < 14e9


@each_problem
def test_answers_are_of_the_cases_dtype_and_neither_fixed_nor_constant_nor_an_input(name: str) -> None:
    """That they are finite and right is checked where problems are admitted (tests/judge/problem_check)."""
    case = case_of(name)
    first, second = (case.inputs(seed, "cpu") for seed in (1, 2))
    model = case.model(1)
    assert all(not torch.equal(one, other) for one, other in zip(flat(first), flat(second), strict=True))
    for one, other in zip(outputs(model, first), outputs(model, second), strict=True):
        assert one.dtype in OTHER_TYPES.get(name, ((case.dtype or torch.float32) if one.is_floating_point() else torch.int64,))
        assert relative_error(one, other) > 0.05
        assert relative_error(torch.full_like(other, float(other.double().mean())), other) > 0.05 or other.numel() == 1
        assert all(given.shape != one.shape or relative_error(given, one) > 0.05 for given in flat(first))


def test_a_table_from_a_file_uses_each_page_once() -> None:
    case = case_of("paged_attention", "8x32-e90b1f73")
    _, _, _, table, lengths = case.inputs(1, "cpu")
    assert not torch.equal(table, case.inputs(2, "cpu")[3]), "a plan for the file's table is wrong"
    assert sorted(lengths.tolist()) == sorted(case.stored[4].tensor.tolist())
    used = [int(page) for row, length in zip(table, lengths, strict=True) for page in row[: -(-int(length) // 16)]]
    assert sorted(used) == list(range(8 * 32))


@each_problem
def test_rows_declared_independent_are(name: str) -> None:
    case = case_of(name)
    model, inputs = case.model(1).double(), widened(case.inputs(1, "cpu"))
    whole = outputs(model, inputs)
    assert case.rows_independent is (name not in DEPENDENT)
    if name in DEPENDENT and len({len(tensor) if tensor.dim() else 0 for tensor in (*flat(inputs), *whole)}) > 1:
        return
    piece = outputs(model, mapped(inputs, lambda tensor: tensor[1:3]))
    alike = [torch.allclose(all_rows[1:3], some_rows, rtol=1e-12, atol=1e-14) for all_rows, some_rows in zip(whole, piece, strict=True)]
    assert all(alike) is (name not in DEPENDENT)


@each_problem
def test_parameters_matter(name: str) -> None:
    """A parameter at a value that does nothing, such as a weight of one, could be left out of an answer unnoticed."""
    case = case_of(name)
    inputs = case.inputs(1, "cpu")
    right = outputs(case.model(1), inputs)
    matters = [name for name, tensor in case.model(1).state_dict().items() if tensor.is_floating_point()]
    if case.procedure_of(case.model(0, "meta")).train:
        matters = [name for name, _ in case.model(1).named_parameters()]  # running averages are only kept
    for parameter in matters:
        model = case.model(1)
        state = model.state_dict()
        state[parameter].fill_(1.0 if parameter.endswith("weight") else 0.0)
        changed = [relative_error(one, other) for one, other in zip(outputs(model, inputs), right, strict=True)]
        assert max(changed) > 0.01, parameter


@each_problem
def test_they_say_what_they_are(name: str) -> None:
    declared = load(PROBLEMS[name]).declaration
    assert declared.description and declared.tags and declared.level in (1, 2, 3) and declared.floor is not None
    assert set(declared.cases) == {"full", "small"}


def test_there_is_one_of_all_that_people_optimise() -> None:
    assert {tag for path in PROBLEMS.values() for tag in load(path).declaration.tags} >= CATEGORIES
    assert len(PROBLEMS) >= 40


@pytest.mark.parametrize("name", ["topk", "sort_rows"])
def test_rows_that_are_sorted_have_no_ties(name: str) -> None:
    x = case_of(name).inputs(1, "cpu")[0].sort(dim=1).values
    assert (x[:, 1:] > x[:, :-1] * (1 + 1e-6)).all()

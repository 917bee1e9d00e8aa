"""Known approximations that a wrong output equals: each is found, and other mistakes get no name."""

import copy
import logging
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest
import torch
from torch import nn
from torch.nn import functional

from evaluator.approximations import known_cause as known_causes
from evaluator.approximations.known_cause import known_cause
from evaluator.approximations.rounding import to_tf32, to_tf32_toward_zero
from evaluator.judge.correctness.errors.variants import search

pytestmark = pytest.mark.slow(4)

TOLERANCE = 4e-5
Forward = Callable[[torch.Tensor], torch.Tensor]
M = TypeVar("M", bound=nn.Module)


class Model(nn.Module):
    """A module of one function."""

    def __init__(self, forward: Forward) -> None:
        super().__init__()
        self._forward = forward

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._forward(x)


def seeded(module: M) -> M:
    """A module in float64, with parameters that are neither 0 nor 1."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-0.7, 0.9, generator=generator)
    return module.double()


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(4))


def told(model: nn.Module | Forward, answer: torch.Tensor, *inputs: torch.Tensor, tolerance: float = TOLERANCE) -> str:
    """What is said of an answer to these inputs, in float32 unless it is in half precision."""
    if answer.dtype is torch.float64:
        answer = answer.float()
    model = model if isinstance(model, nn.Module) else Model(model)
    return known_cause(model, inputs, [answer], 0, tolerance)


X = drawn(6, 5, 40)
WIDE = X.double()
LINEAR = seeded(nn.Linear(40, 40))
NORM = seeded(nn.LayerNorm(40))
CONV = seeded(nn.Conv1d(5, 7, 3, padding=1))
BATCH_NORM = seeded(nn.BatchNorm1d(5))
SMALL_X = X * 3e-3

FORMS: dict[str, tuple[nn.Module | Forward, torch.Tensor, Forward]] = {
    "GELU's tanh approximation": (functional.gelu, X, lambda x: functional.gelu(x, approximate="tanh")),
    "GELU's exact form": (lambda x: functional.gelu(x, approximate="tanh"), X, functional.gelu),
    "GELU's tanh approximation ": (
        lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))),
        X,
        lambda x: functional.gelu(x, approximate="tanh"),
    ),
    "GELU's exact form ": (
        lambda x: 0.5 * x * (1.0 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0)))),
        X,
        functional.gelu,
    ),
    "x·sigmoid(1.702x)": (functional.gelu, X, lambda x: x * torch.sigmoid(1.702 * x)),
    "n - 1 in place of n": (lambda x: x.var(-1, unbiased=False), X, lambda x: x.var(-1)),
    "n in place of n - 1": (lambda x: torch.std(x, dim=-1), X, lambda x: x.std(-1, correction=0)),
    "n - 1 in place of n ": (NORM, X, lambda x: NORM.weight * (x - x.mean(-1, True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt() + NORM.bias),
    "a sum in place of a mean": (lambda x: x.mean(-1), X, lambda x: x.sum(-1)),
    "a mean in place of a sum": (lambda x: x.sum((1, 2)), drawn(80, 5, 7), lambda x: x.mean((1, 2))),
    "eps 1e-06 in place of 1e-05": (NORM, SMALL_X, lambda x: functional.layer_norm(x, (40,), NORM.weight, NORM.bias, 1e-6)),
    "eps 0 ": (lambda x: x / (x.square().mean(-1, True) + 1e-5).sqrt(), SMALL_X, lambda x: x / x.square().mean(-1, True).sqrt()),
    "attention without its scale": (
        lambda x: functional.scaled_dot_product_attention(x, x, x),
        X,
        lambda x: functional.scaled_dot_product_attention(x, x, x, scale=1.0),
    ),
    "attention without its causal mask": (
        lambda x: functional.scaled_dot_product_attention(x, x, x, is_causal=True),
        X,
        lambda x: functional.scaled_dot_product_attention(x, x, x),
    ),
    "the division by 6.3": (lambda x: (x @ x.mT / math.sqrt(40)).softmax(-1) @ x, X, lambda x: (x @ x.mT).softmax(-1) @ x),
    "softmax over the dimension before": (lambda x: torch.softmax(x, dim=-1), X, lambda x: x.softmax(1)),
    "running statistics": (BATCH_NORM, X, lambda x: copy.deepcopy(BATCH_NORM).eval()(x)),
    "the batch's statistics": (copy.deepcopy(BATCH_NORM).eval(), X, lambda x: copy.deepcopy(BATCH_NORM)(x)),
    "hard sigmoid": (torch.sigmoid, X, functional.hardsigmoid),
    "hard swish": (functional.silu, X, functional.hardswish),
    "27 + x²": (torch.tanh, X, lambda x: (x * (27 + x * x) / (27 + 9 * x * x)).clamp(-1, 1)),
    "slope 0.01": (lambda x: functional.leaky_relu(x, 0.1), X, functional.leaky_relu),
    "GELU left out": (lambda x: functional.gelu(LINEAR(x)), X, LINEAR),
    "the bias of linear left out": (LINEAR, X, lambda x: functional.linear(x, LINEAR.weight)),
    "the bias of conv1d left out": (CONV, X, lambda x: functional.conv1d(x, CONV.weight, padding=1)),
    "weight and bias left out": (NORM, X, lambda x: functional.layer_norm(x, (40,))),
    "the second operand of linear transposed": (LINEAR, X, lambda x: functional.linear(x, LINEAR.weight.T, LINEAR.bias)),
    "the kernel of conv1d flipped": (CONV, X, lambda x: functional.conv1d(x, CONV.weight.flip(2), CONV.bias, padding=1)),
    "padded with 0": (
        lambda x: functional.max_pool1d(x, 3, padding=1),
        -X.abs(),
        lambda x: functional.max_pool1d(functional.pad(x, (1, 1)), 3),
    ),
    "padding counted otherwise": (
        lambda x: functional.avg_pool1d(x, 3, padding=1),
        X,
        lambda x: functional.avg_pool1d(x, 3, padding=1, count_include_pad=False),
    ),
    "rounded to bfloat16": (LINEAR, X, lambda x: functional.linear(x.bfloat16().double(), LINEAR.weight.bfloat16().double(), LINEAR.bias)),
    "rounded to float16": (LINEAR, X, lambda x: functional.linear(x.half().double(), LINEAR.weight.half().double(), LINEAR.bias)),
    "the last of 40 elements left out of sum": (lambda x: x.sum(-1), X, lambda x: x[..., :-1].sum(-1)),
    "the first of 40 elements left out of mean": (lambda x: x.mean(dim=2), X, lambda x: x[..., 1:].sum(2) / 40),
    "the last of 6 elements left out of sum": (lambda x: x.sum(0), X, lambda x: x[:-1].sum(0)),
    "the last of 1200 elements left out of mean": (lambda x: x / x.mean(), X, lambda x: x / (x.flatten()[:-1].sum() / 1200)),
    "the last 8 of 40 elements left out of linear": (LINEAR, X, lambda x: x[..., :32] @ LINEAR.weight[:, :32].T + LINEAR.bias),
    "the last 6 of 70 elements left out of matmul": (
        lambda x: x.view(1, -1)[:, :70] @ x.view(-1)[:700].view(70, 10),
        X,
        lambda x: x.view(1, -1)[:, :64] @ x.view(-1)[:640].view(64, 10),
    ),
    "the last of 1200 elements left out of sum": (lambda x: x + x.sum(), X, lambda x: x + x.flatten()[:-1].sum()),
    "a sum in place of a mean ": (lambda x: x[0, 0, 0].sum(0) + x.mean(-1), X, lambda x: x[0, 0, 0].sum(0) + x.sum(-1)),
    "loss reduced by sum": (lambda x: functional.mse_loss(x, x + 1), X, lambda x: functional.mse_loss(x, x + 1, reduction="sum")),
}
"""Words of what is said, after a reference, inputs, and what was computed in the reference's place."""


@pytest.mark.parametrize("words", FORMS)
def test_a_known_variant_is_found(words: str) -> None:
    model, inputs, computed = FORMS[words]
    with torch.no_grad():
        said = told(model, computed(inputs.double()), inputs)
    assert words.strip() in said and said.startswith("the reference with ")


def test_schraudolphs_exp_is_found() -> None:
    def exp(x: torch.Tensor) -> torch.Tensor:
        return (x * 12102203.161561485 + 1064866805).to(torch.int32).view(torch.float32)

    powers = exp(X - X.amax(-1, keepdim=True))
    assert "Schraudolph's exp, of constant 1064866805" in told(lambda x: x.softmax(-1), powers / powers.sum(-1, keepdim=True), X)


@pytest.mark.parametrize("largest", [60 * X.max().item(), 88.0])
def test_a_softmax_that_overflows_is_found(largest: float) -> None:
    """float32 holds exp(88), but not a sum of several: the softmax is 0 then."""
    x = X * (60 if largest > 88 else 1)
    x[0, :8] = largest
    powers = x.exp()
    answer = powers / powers.sum(-1, keepdim=True)
    assert powers.isinf().any() == answer.isnan().any() == (largest > 88) and (answer[0, :8] == 0).any() != (largest > 88)
    assert "does not subtract the row's maximum" in told(lambda x: x.softmax(-1), answer, x)


def test_the_error_is_told() -> None:
    said = told(functional.gelu, functional.gelu(X, approximate="tanh"), X)
    assert said.startswith("the reference with GELU's tanh approximation, to ") and float(said.rpartition(" ")[2]) < 1e-6


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_hides_what_is_no_larger_than_its_rounding(dtype: torch.dtype) -> None:
    assert told(functional.gelu, functional.gelu(WIDE, approximate="tanh").to(dtype), X, tolerance=2e-3) == ""
    assert "sum in place of a mean" in told(lambda x: x.mean(-1), WIDE.sum(-1).to(dtype), X, tolerance=2e-2)


@pytest.mark.parametrize("words", FORMS)
@pytest.mark.parametrize("size", [1e-4, 0.1])
def test_noise_is_given_no_name(words: str, size: float) -> None:
    model, inputs, _ = FORMS[words]
    with torch.no_grad():
        right = (model if isinstance(model, nn.Module) else Model(model))(inputs.double())
        right += size * right.abs().mean() * torch.randn(right.shape, generator=torch.Generator().manual_seed(6))
        assert told(model, right, inputs) == ""


def test_other_mistakes_are_given_no_name() -> None:
    right = LINEAR(WIDE).detach()
    for answer in (right.roll(1, 0), right * torch.linspace(1, 1.1, 40), right.clone().index_fill_(2, torch.tensor([39]), 0.0), -right + 1):
        assert told(LINEAR, answer, X) == ""


@pytest.mark.parametrize(
    ("factor", "words"),
    [(40, "is 40"), (1 / 40, "is 1/40"), (math.sqrt(40), "is √40"), (1 / math.sqrt(40), "is 1/√40"), (40 / 39, "is 40/39")],
)
def test_a_factor_that_follows_from_a_size_is_told(factor: float, words: str) -> None:
    said = told(torch.cos, torch.cos(WIDE) * factor, X)
    assert said.startswith(f"the right answer times {factor:.6g}, which ") and words in said
    assert told(torch.cos, torch.cos(WIDE) * (factor * 1.017), X) == ""


def test_tf32_is_named_on_a_gpu_alone() -> None:
    weight = LINEAR.weight.detach()
    nearest, cut = (functional.linear(each(WIDE), each(weight), LINEAR.bias).detach() for each in (to_tf32, to_tf32_toward_zero))
    assert "products rounded to float16, to" in told(LINEAR, nearest, X)  # which has as many bits
    assert told(LINEAR, cut, X) == ""
    assert to_tf32(torch.tensor([1 + 2.0**-11, 1 + 2.0**-12, -1 - 3 * 2.0**-11])).tolist() == [1.0, 1.0, -1 - 2.0**-9]
    assert to_tf32_toward_zero(torch.tensor([1 + 2.0**-11, 1 + 1.5 * 2.0**-10])).tolist() == [1.0, 1 + 2.0**-10]


@pytest.mark.gpu
def test_tf32_is_named_on_a_gpu() -> None:
    x, model = drawn(256, 512).cuda(), seeded(nn.Linear(512, 512)).cuda()
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        answer = functional.linear(x, model.weight.float(), model.bias.float()).detach()
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
    assert "rounded to TF32" in told(model, answer, x)


def test_of_several_outputs_the_wrong_one_is_looked_at() -> None:
    class Two(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
            return x + 1, {"gelu": functional.gelu(x)}

    answers = [X + 1, functional.gelu(X, approximate="tanh")]
    assert "tanh" in known_cause(Two(), [X], answers, 1, TOLERANCE)


def test_nothing_is_changed() -> None:
    class InPlace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            normalized: torch.Tensor = self.norm(x)
            return functional.relu_(x.add_(1)) * normalized

    model, x = InPlace().double(), WIDE.clone()
    before = copy.deepcopy(model.state_dict())
    assert known_cause(model, [x], [drawn(*X.shape)], 0, TOLERANCE) == ""
    assert torch.equal(x, WIDE)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert model.norm.eps == 1e-5


def test_a_model_that_fails_leaves_it_empty(caplog: pytest.LogCaptureFixture) -> None:
    def fail(x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("not enough memory")

    with caplog.at_level(logging.INFO):
        assert told(fail, X, X) == ""
    assert "left empty: RuntimeError: not enough memory" in caplog.text


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Sequence[int]] = []

    def counted(x: torch.Tensor) -> torch.Tensor:
        runs.append(x.shape)
        for function in (functional.gelu, torch.sigmoid, functional.silu, torch.tanh, functional.relu6, functional.elu, functional.mish):
            x = function(x)
        return functional.linear(x.softmax(-1).mean(-1, True) + X, LINEAR.weight, LINEAR.bias)

    noise = drawn(*X.shape)
    assert told(counted, noise, X) == ""
    assert len(runs) == 1 + search.MOST_VARIANTS
    monkeypatch.setattr(search, "BUDGET_S", 0.0)
    runs.clear()
    assert told(counted, noise, X) == "" and len(runs) == 1
    monkeypatch.setattr(known_causes, "MOST_ELEMENTS", X.numel() - 1)
    runs.clear()
    assert told(counted, noise, X) == "" and not runs


def test_integers_have_no_approximations() -> None:
    assert told(lambda x: x.argmax(-1), X.argmin(-1), X) == ""


def test_a_lone_number_equals_no_near_variant_by_chance() -> None:
    right = X.double().mean()
    for seed in range(300):
        error = 1e-3 * float(torch.randn((), generator=torch.Generator().manual_seed(seed)))
        assert not told(torch.mean, right * (1 + error), X)

"""Formulas that are right unless exp() overflows in float32. A round in which an answer equals such a formula decides nothing."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from evaluator.judge.correctness.errors.variants.call import Call, Swap
from evaluator.judge.correctness.errors.variants.search import Search
from evaluator.judge.correctness.errors.variants.swaps import ATTENTION, of_exp, to_type
from evaluator.judge.correctness.errors.variants.variant import Subject, Variant


def overflow(oracle_model: torch.nn.Module, inputs: Sequence[Any], candidate: Sequence[torch.Tensor], number: int, tolerance: float) -> str:
    """The formula that overflows, if output `number` equals its result wherever that is finite, and is not finite elsewhere; else empty.

    Such an answer equals the reference, but its arithmetic fails for large numbers. Arguments are as in `Search`. Raises
    torch.OutOfMemoryError, and the errors of the reference.
    """
    with torch.no_grad():
        wrong = _without_infinities(candidate[number])
        return Search(oracle_model, inputs, wrong, number, tolerance, _without_infinities).equal([overflows])


def _without_infinities(tensor: torch.Tensor) -> torch.Tensor:
    """Replace infinities by NaN: which of both a formula ends in depends on its order."""
    return torch.where(tensor.isfinite(), tensor, torch.nan)


def overflows(subject: Subject) -> Iterator[Variant]:
    """A softmax without a maximum, tanh and softplus by exp(): each alone, and all of them together."""
    softmaxes = {name: of_exp(_exp, subtract=False) for name in subject.called("softmax", "log_softmax", "logsumexp", ATTENTION)}
    softmaxes |= dict.fromkeys(subject.called("cross_entropy"), _cross_entropy)
    if softmaxes:
        yield Variant("a softmax that does not subtract the row's maximum before exp()", softmaxes)
    tanhs: dict[str, Swap] = {}
    for what, tanh in (("exp(2x)", _tanh), ("exp(-2x)", _tanh_of_negative)):
        tanhs = {name: _of_tanh(tanh) for name in subject.called("tanh", "gelu", "mish")}
        if tanhs:
            yield Variant(f"a tanh from {what}, which overflows", tanhs)
    softplus = dict.fromkeys(subject.called("softplus"), _softplus)
    if softplus:
        yield Variant("a softplus from exp(x), which overflows", softplus)
    if sum(map(bool, (softmaxes, tanhs, softplus))) > 1:
        yield Variant("softmax, tanh and softplus from exp(), which overflows", {**softmaxes, **tanhs, **softplus})


def _exp(x: torch.Tensor) -> torch.Tensor:
    """exp in float32."""
    return _single(x.exp())


_single = to_type(torch.float32)


def _tanh(x: torch.Tensor) -> torch.Tensor:
    power = _exp(2 * x)
    return (power - 1) / (power + 1)


def _tanh_of_negative(x: torch.Tensor) -> torch.Tensor:
    power = _exp(-2 * x)
    return (1 - power) / (1 + power)


def _of_tanh(tanh: Callable[[torch.Tensor], torch.Tensor]) -> Swap:
    def swapped(call: Call) -> Any:
        x = call.first
        if call.name == "mish":
            return x * tanh((1 + _exp(x)).log())
        if call.name == "gelu":
            is_tanh = call.value(1, "approximate", "none") == "tanh"
            return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x**3))) if is_tanh else call.run()
        return tanh(x)

    return swapped


def _softplus(call: Call) -> Any:
    beta = call.value(1, "beta", 1.0)
    return (1 + _exp(beta * call.first)).log() / beta


def _cross_entropy(call: Call) -> Any:
    powers = _exp(call.first)
    shares = (powers / _single(powers.sum(1, keepdim=True))).log()
    reduction = call.options.get("reduction", "mean")
    return torch.nn.functional.nll_loss(shares, call.value(1, "target"), reduction=reduction)

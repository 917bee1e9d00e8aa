"""Formulas that are right unless exp() overflows in float32. A round in which an answer equals such a formula decides nothing."""

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any

import torch

from evaluator.judge.correctness.errors.variants.call import Call, Swap
from evaluator.judge.correctness.errors.variants.search import Search, Subject, Variant
from evaluator.judge.correctness.errors.variants.swaps import ATTENTION, of_exp, to_type


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
    """Each formula whose function the reference calls, and all of them together."""
    found: list[dict[str, Swap]] = []
    for words, swaps in FORMULAS.items():
        if swapped := {name: swaps[name] for name in subject.called(*swaps)}:
            yield Variant(words, swapped)
            found.append(swapped)
    if len(found) > 1:
        yield Variant("several functions from exp(), which overflows", reduce(operator.or_, found))


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


def _mish_of_products(x: torch.Tensor) -> torch.Tensor:
    product = _exp(x) * (_exp(x) + 2)
    return _single(x * _single(product)) / _single(product + 2)


def _sigmoid(x: torch.Tensor) -> torch.Tensor:
    return _exp(x) / _single(1 + _exp(x))


def _of_first(function: Callable[[torch.Tensor], torch.Tensor]) -> Swap:
    return lambda call: function(call.first)


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


def _log_shares(x: torch.Tensor, dimension: int, subtract: bool) -> torch.Tensor:
    powers = _exp(x - x.amax(dimension, keepdim=True) if subtract else x)
    return _single(powers / _single(powers.sum(dimension, keepdim=True))).log()


def _log_softmax(call: Call) -> torch.Tensor:
    return _log_shares(call.first, call.value(1, "dim", -1), subtract=True)


def _cross_entropy(call: Call, subtract: bool) -> Any:
    reduction = call.options.get("reduction", "mean")
    return torch.nn.functional.nll_loss(_log_shares(call.first, 1, subtract), call.value(1, "target"), reduction=reduction)


FORMULAS: dict[str, dict[str, Swap]] = {
    "a softmax that does not subtract the row's maximum before exp()": {
        **dict.fromkeys(("softmax", "log_softmax", "logsumexp", ATTENTION), of_exp(_exp, subtract=False)),
        "cross_entropy": partial(_cross_entropy, subtract=False),
    },
    "the logarithm of a softmax, which is 0 for small exp()": {
        "log_softmax": _log_softmax,
        "cross_entropy": partial(_cross_entropy, subtract=True),
    },
    "a tanh from exp(2x), which overflows": dict.fromkeys(("tanh", "gelu", "mish"), _of_tanh(_tanh)),
    "a tanh from exp(-2x), which overflows": dict.fromkeys(("tanh", "gelu", "mish"), _of_tanh(_tanh_of_negative)),
    "a product of exp(), which overflows": {"mish": _of_first(_mish_of_products)},
    "a softplus from exp(x), which overflows": {"softplus": _softplus},
    "a sigmoid from exp(x), which overflows": {
        "sigmoid": _of_first(_sigmoid),
        "silu": _of_first(lambda x: x * _sigmoid(x)),
        "log_sigmoid": _of_first(lambda x: -(1 + _exp(-x)).log()),
    },
}
"""Formulas that are right for the usual numbers, by their words: the functions that they compute."""

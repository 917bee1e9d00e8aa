"""Variants of activation functions: approximations, other constants, and the function left out."""

import math
from collections.abc import Callable, Iterator

import torch
from torch.nn import functional

from evaluator.judge.correctness.errors.variants.call import Call, Swap
from evaluator.judge.correctness.errors.variants.search import Subject, Variant

Formula = Callable[[torch.Tensor], torch.Tensor]

_CUBE = 0.044715
"""The factor of x³ in GELU's tanh approximation."""

SPELLINGS = {"gelu": "GELU", "relu": "ReLU", "relu6": "ReLU6", "silu": "SiLU", "elu": "ELU", "leaky_relu": "leaky ReLU", "selu": "SELU"}
"""Names of functions in messages, if they differ."""
FORMULAS: dict[str, tuple[tuple[str, Formula], ...]] = {
    "sigmoid": (
        ("hard sigmoid", functional.hardsigmoid),
        ("sigmoid(2x), as tanh(x) without halving its argument gives it,", lambda x: torch.sigmoid(2 * x)),
        ("x / (1 + |x|), moved to 0…1,", lambda x: 0.5 * x / (1 + x.abs()) + 0.5),
    ),
    "silu": (
        ("hard swish", functional.hardswish),
        ("x·sigmoid(1.702x)", lambda x: x * torch.sigmoid(1.702 * x)),
        ("GELU", functional.gelu),
    ),
    "tanh": (
        ("the rational function x(27 + x²) / (27 + 9x²), within ±1,", lambda x: (x * (27 + x * x) / (27 + 9 * x * x)).clamp(-1, 1)),
        ("the rational function x(27 + x²) / (27 + 9x²)", lambda x: x * (27 + x * x) / (27 + 9 * x * x)),
        ("hard tanh", functional.hardtanh),
        ("x / (1 + |x|)", functional.softsign),
    ),
    "gelu": (("ReLU", functional.relu), ("SiLU", functional.silu)),
    "relu": (("leaky ReLU of slope 0.01", functional.leaky_relu), ("ReLU6", functional.relu6)),
    "relu6": (("ReLU", functional.relu),),
    "hardswish": (("SiLU", functional.silu),),
    "hardsigmoid": (("sigmoid", torch.sigmoid), ("clamp(0.2x + 0.5, 0, 1)", lambda x: (0.2 * x + 0.5).clamp(0, 1))),
    "softplus": (("softplus of beta 1", functional.softplus), ("ReLU", functional.relu)),
    "elu": (("ELU of alpha 1", functional.elu), ("ReLU", functional.relu)),
    "selu": (("ELU of alpha 1", functional.elu),),
    "mish": (("SiLU", functional.silu),),
    "softsign": (("tanh", torch.tanh),),
    "hardtanh": (("tanh", torch.tanh), ("clamping to -1…1", functional.hardtanh)),
    "leaky_relu": (
        ("ReLU", functional.relu),
        ("leaky ReLU of slope 0.01", functional.leaky_relu),
        ("leaky ReLU of slope 0.2", lambda x: functional.leaky_relu(x, 0.2)),
    ),
    "softmax": (),
    "clamp": (),
}
"""By function: other functions that are often computed in its place."""


def gelu_forms(subject: Subject) -> Iterator[Variant]:
    """GELU in its other forms, even if the reference contains its formula."""
    forms = {call.value(1, "approximate", "none") for call in subject.of("gelu")}
    if "none" in forms or subject.called("erf"):
        swaps: dict[str, Swap] = {"gelu": lambda call: functional.gelu(call.first, approximate="tanh"), "erf": _tanh_for_erf}
        yield Variant("GELU's tanh approximation", swaps)
    if "tanh" in forms or (subject.called("tanh") and _CUBE in {call.value(1, "other") for call in subject.of("mul")}):
        swaps = {"gelu": lambda call: functional.gelu(call.first), "tanh": _erf_for_tanh}
        yield Variant("GELU's exact form, by erf, in place of its tanh approximation", swaps)
    if forms:
        yield Variant("GELU's approximation x·sigmoid(1.702x)", {"gelu": lambda call: call.first * torch.sigmoid(1.702 * call.first)})


def _tanh_for_erf(call: Call) -> torch.Tensor:
    """The replacement of erf(x / √2) in GELU's tanh approximation."""
    x = call.first * math.sqrt(2)
    return torch.tanh(math.sqrt(2 / math.pi) * (x + _CUBE * x**3))


def _erf_for_tanh(call: Call) -> torch.Tensor:
    """The reverse: x is the root of x + _CUBE·x³ = u, by the formula for a cubic equation with one root."""
    u = call.first * math.sqrt(math.pi / 2)
    x = 2 / math.sqrt(3 * _CUBE) * torch.sinh(torch.asinh(1.5 * math.sqrt(3 * _CUBE) * u) / 3)
    return torch.erf(x / math.sqrt(2))


def other_formulas(subject: Subject) -> Iterator[Variant]:
    """Another function in place of an activation function."""
    for name in subject.called(*FORMULAS):
        for what, formula in FORMULAS[name]:
            yield Variant(f"{what} in place of {_spelling(name)}", {name: _by(formula)})


def left_out(subject: Subject) -> Iterator[Variant]:
    """An activation function left out."""
    for name in subject.called(*FORMULAS):
        yield Variant(f"{_spelling(name)} left out", {name: lambda call: call.first})


def constants_left_out(subject: Subject) -> Iterator[Variant]:
    """An operation with a number left out; for a division or a product also with the number squared, such as d for √d."""
    words = {"add": "the addition of", "sub": "the subtraction of", "mul": "the factor", "div": "the division by"}
    found = dict.fromkeys(
        (call.name, number)
        for call in subject.of(*words)
        if isinstance(number := call.value(1, "other"), int | float) and not isinstance(number, bool) and abs(number) > 1e-2
    )
    for name, number in list(found)[:3]:
        yield Variant(f"{words[name]} {number:.6g} left out", {name: _where(number, lambda call: call.first)})
        if name in ("mul", "div") and math.isfinite(number * number) and abs(number) != 1:
            squared = _squared(number)
            yield Variant(f"{words[name]} {number:.6g} squared, to {number * number:.6g}", {name: _where(number, squared)})


def _squared(number: float) -> Swap:
    return lambda call: call.changed(1, "other", number * number).run()


def _where(number: float, swap: Swap) -> Swap:
    """Swap only calls with this number as second argument."""

    def swapped(call: Call) -> object:
        other = call.value(1, "other")
        return swap(call) if isinstance(other, int | float) and other == number else call.run()

    return swapped


def _by(formula: Formula) -> Swap:
    return lambda call: formula(call.first)


def _spelling(name: str) -> str:
    return SPELLINGS.get(name, name)

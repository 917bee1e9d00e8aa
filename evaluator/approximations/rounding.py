"""Variants in narrower types, and with fast approximations of exp."""

import math
from collections.abc import Iterator

import torch

from evaluator.judge.correctness.errors.variants.search import Subject, Variant
from evaluator.judge.correctness.errors.variants.swaps import ATTENTION, PRODUCTS, Rounding, of_exp, of_rounded, to_type

DROPPED_BITS = 13
"""Number of bits of a float32's mantissa that TF32 lacks."""
SCHRAUDOLPH = (1064866805, 1065353216, 1064986823, 1065054451)
"""Constants of Schraudolph's exp ("A fast, compact approximation of the exponential function", 1999), for a float32's bits."""
WIDE = (torch.float32, torch.float64)


def narrow_products(subject: Subject) -> Iterator[Variant]:
    """Operands of matrix products and convolutions in a narrower type. TF32 exists only on GPUs."""
    names = subject.called(*PRODUCTS)
    if subject.dtype not in WIDE or not names:
        return
    roundings: dict[str, Rounding] = {"float16": to_type(torch.float16), "bfloat16": to_type(torch.bfloat16)}
    if subject.on_gpu:
        roundings = {"TF32": to_tf32, "TF32, toward zero": to_tf32_toward_zero, **roundings}
    for name, rounding in roundings.items():
        yield Variant(f"the operands of its products rounded to {name}", dict.fromkeys(names, of_rounded(rounding)))


def narrow_inputs(subject: Subject) -> Iterator[Variant]:
    if subject.dtype in WIDE:
        for name, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
            yield Variant(f"its inputs rounded to {name}", rounded=to_type(dtype))


def exponentials(subject: Subject) -> Iterator[Variant]:
    """Approximate exp, alone and in functions that use it."""
    names = subject.called("exp", "softmax", "sigmoid", "silu", "elu", ATTENTION)
    if not names:
        return
    approximations: list[tuple[str, Rounding]] = [
        (f"Schraudolph's exp, of constant {constant}", _schraudolph(constant)) for constant in SCHRAUDOLPH
    ]
    if subject.dtype in WIDE:
        approximations.append(("exp in float16", lambda x: x.half().double().exp().half().to(x.dtype)))
        approximations.append(("exp in bfloat16", lambda x: x.bfloat16().double().exp().bfloat16().to(x.dtype)))
    for what, exp in approximations:
        yield Variant(what, {name: of_exp(exp) for name in names})


def to_tf32(x: torch.Tensor) -> torch.Tensor:
    """Round to the nearest number with TF32's ten bits of mantissa; ties to even."""
    bits = x.float().view(torch.int32)
    return _masked(x, (bits >> DROPPED_BITS).bitwise_and_(1).add_((1 << (DROPPED_BITS - 1)) - 1))


def to_tf32_toward_zero(x: torch.Tensor) -> torch.Tensor:
    """Drop the bits of a float32 that matrix units ignore."""
    return _masked(x, 0)


def _masked(x: torch.Tensor, added: int | torch.Tensor) -> torch.Tensor:
    bits = x.float().view(torch.int32)
    return bits.add(added).bitwise_and_(-(1 << DROPPED_BITS)).view(torch.float32).to(x.dtype)


def _schraudolph(constant: int) -> Rounding:
    def exp(x: torch.Tensor) -> torch.Tensor:
        steps = (x * (1 << 23) / math.log(2)).add_(constant).clamp_(0, 0x7F7FFFFF)
        return steps.to(torch.int32).view(torch.float32).to(x.dtype)

    return exp

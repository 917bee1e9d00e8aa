"""Variants in narrower types, and with fast approximations of exp."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from evaluator.judge.correctness.errors.variants.call import Call, Swap
from evaluator.judge.correctness.errors.variants.products import ATTENTION, CONVOLUTIONS
from evaluator.judge.correctness.errors.variants.variant import Subject, Variant

Rounding = Callable[[torch.Tensor], torch.Tensor]

PRODUCTS = ("linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "einsum", "multi_head_attention_forward", ATTENTION, *CONVOLUTIONS)
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


def to_type(dtype: torch.dtype) -> Rounding:
    """Rounding to a type."""
    return lambda x: x.to(dtype).to(x.dtype)


def of_rounded(rounding: Rounding) -> Swap:
    """A product with rounded operands."""

    def rounded(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            return rounding(value)
        return (
            [rounded(item) for item in value] if isinstance(value, list | tuple) and value and isinstance(value[0], torch.Tensor) else value
        )

    def swapped(call: Call) -> Any:
        # The bias and the added tensor are not rounded: they go to the accumulator.
        first, last = {"addmm": (1, 3), "baddbmm": (1, 3), "einsum": (1, len(call.arguments)), ATTENTION: (0, 3)}.get(call.name, (0, 2))
        arguments = tuple(rounded(value) if first <= place < last else value for place, value in enumerate(call.arguments))
        return Call(call.name, call.function, arguments, call.options).run()

    return swapped


def _schraudolph(constant: int) -> Rounding:
    def exp(x: torch.Tensor) -> torch.Tensor:
        steps = (x * (1 << 23) / math.log(2)).add_(constant).clamp_(0, 0x7F7FFFFF)
        return steps.to(torch.int32).view(torch.float32).to(x.dtype)

    return exp


def of_exp(exp: Rounding, subtract: bool = True) -> Swap:
    """The function with this exp."""

    def softmax(x: torch.Tensor, dimension: int) -> torch.Tensor:
        powers = exp(x - x.amax(dimension, keepdim=True) if subtract else x)
        return powers / powers.sum(dimension, keepdim=True)

    def swapped(call: Call) -> Any:
        x = call.first
        match call.name:
            case "exp":
                return exp(x)
            case "softmax" | "log_softmax":
                found = softmax(x, call.value(1, "dim", -1))
                return found if call.name == "softmax" else found.log()
            case "logsumexp":
                return exp(x).sum(call.value(1, "dim"), keepdim=call.value(2, "keepdim", False)).log()
            case "sigmoid":
                return 1 / (1 + exp(-x))
            case "silu":
                return x / (1 + exp(-x))
            case "elu":
                return torch.where(x > 0, x, call.value(1, "alpha", 1.0) * (exp(x) - 1))
        return _attention(call, softmax)

    return swapped


def _attention(call: Call, softmax: Callable[[torch.Tensor, int], torch.Tensor]) -> Any:
    query, key, values = (call.value(place, name) for place, name in enumerate(("query", "key", "value")))
    if call.options.get("enable_gqa"):
        return call.run()
    scale = call.options.get("scale")
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    mask = call.value(3, "attn_mask")
    if call.value(5, "is_causal", False):
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    return softmax(scores, -1) @ values

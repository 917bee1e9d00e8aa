"""Replacements of functions: products with rounded operands, and functions with another exp."""

from collections.abc import Callable
from typing import Any

import torch

from evaluator.judge.correctness.errors.variants.call import Call, Swap

Rounding = Callable[[torch.Tensor], torch.Tensor]

ATTENTION = "scaled_dot_product_attention"
CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
PRODUCTS = ("linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "einsum", "multi_head_attention_forward", ATTENTION, *CONVOLUTIONS)


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


def of_exp(exp: Rounding, subtract: bool = True) -> Swap:
    """The function with this exp. Without `subtract`, sums of powers are rounded to float32, in which they may overflow."""

    def total(powers: torch.Tensor, dimension: Any, keepdim: bool) -> torch.Tensor:
        summed = powers.sum(dimension, keepdim=keepdim)
        return summed if subtract else to_type(torch.float32)(summed)

    def softmax(x: torch.Tensor, dimension: int) -> torch.Tensor:
        powers = exp(x - x.amax(dimension, keepdim=True) if subtract else x)
        return powers / total(powers, dimension, keepdim=True)

    def swapped(call: Call) -> Any:
        x = call.first
        match call.name:
            case "exp":
                return exp(x)
            case "softmax" | "log_softmax":
                found = softmax(x, call.value(1, "dim", -1))
                return found if call.name == "softmax" else found.log()
            case "logsumexp":
                return total(exp(x), call.value(1, "dim"), keepdim=call.value(2, "keepdim", False)).log()
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

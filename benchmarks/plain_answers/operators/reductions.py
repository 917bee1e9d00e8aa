"""Norms, largest elements, running sums and products."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.plain_answers.operators.blocks import plain_dims, plain_ranges, plain_square, plain_sum_of


def plain_norm(
    x: torch.Tensor,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: None = None,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """As torch.norm, for the norms 1 and 2."""
    x = x if dtype is None else x.to(dtype)
    if p in ("fro", None, 2, 2.0):
        return plain_sum_of(x, dim, keepdim, plain_square).sqrt()
    if p == 1:
        return plain_sum_of(x, dim, keepdim, torch.abs)
    raise NotImplementedError(f"norm {p}")


def plain_vector_norm(
    x: torch.Tensor, ord: float = 2, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """As torch.linalg.vector_norm, for the norms 1 and 2."""
    return plain_norm(x, ord, dim, keepdim, dtype=dtype)


def plain_logsumexp(x: torch.Tensor, dim: int | Sequence[int], keepdim: bool = False) -> torch.Tensor:
    """log Σ exp(x), without a maximum."""
    return plain_sum_of(x, dim, keepdim, torch.exp).log()


def plain_best(
    x: torch.Tensor,
    dim: int,
    keepdim: bool,
    reduce: Callable[..., Any],
    better: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best elements along `dim` and their positions, block by block. Of equal ones in two blocks the later is named."""
    dim %= x.dim()
    block = math.isqrt(max(x.shape[dim] - 1, 0)) + 1
    value, index = reduce(x.narrow(dim, 0, min(block, x.shape[dim])), dim, True)
    for start, size in plain_ranges(x.shape[dim], block):
        part, place = reduce(x.narrow(dim, start, size), dim, True)
        later = better(part, value) | part.isnan()
        value, index = torch.where(later, part, value), torch.where(later, place + start, index)
    return (value, index) if keepdim else (value.squeeze(dim), index.squeeze(dim))


def plain_max(x: torch.Tensor, *arguments: Any, **named: Any) -> Any:
    """As torch.max: of all, of a dimension, or of two tensors."""
    if not arguments and not named:
        return plain_best(x.reshape(-1), 0, False, torch.max, torch.ge)[0]
    if "other" in named or (arguments and isinstance(arguments[0], torch.Tensor)):
        return torch.maximum(x, *arguments, **named)
    return torch.return_types.max(plain_along(x, torch.max, torch.ge, *arguments, **named))


def plain_min(x: torch.Tensor, *arguments: Any, **named: Any) -> Any:
    """As torch.min: of all, of a dimension, or of two tensors."""
    if not arguments and not named:
        return plain_best(x.reshape(-1), 0, False, torch.min, torch.le)[0]
    if "other" in named or (arguments and isinstance(arguments[0], torch.Tensor)):
        return torch.minimum(x, *arguments, **named)
    return torch.return_types.min(plain_along(x, torch.min, torch.le, *arguments, **named))


def plain_along(
    x: torch.Tensor, reduce: Callable[..., Any], better: Callable[..., torch.Tensor], dim: int, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Best elements and their positions, with the arguments of torch.max."""
    return plain_best(x, dim, keepdim, reduce, better)


def plain_argmax(x: torch.Tensor, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
    """As torch.argmax; of equal elements it may name another."""
    values, along = (x.reshape(-1), 0) if dim is None else (x, dim)
    return plain_best(values, along, keepdim, torch.max, torch.ge)[1]


def plain_argmin(x: torch.Tensor, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
    """As torch.argmin; of equal elements it may name another."""
    values, along = (x.reshape(-1), 0) if dim is None else (x, dim)
    return plain_best(values, along, keepdim, torch.min, torch.le)[1]


def plain_running(x: torch.Tensor, dim: int, step: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """A running result along `dim`, one element after another, as a loop of one thread would have it."""
    if x.dim() == 0:
        return x.clone()
    answer = torch.empty_like(x)
    total = None
    (dim,) = plain_dims(x, dim)
    for place in range(x.shape[dim]):
        element = x.select(dim, place)
        total = element.clone() if total is None else step(total, element)
        answer.select(dim, place).copy_(total)
    return answer


def plain_cumsum(x: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """As torch.cumsum."""
    return plain_running(x if dtype is None else x.to(dtype), dim, torch.Tensor.add_)


def plain_cumprod(x: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """As torch.cumprod."""
    return plain_running(x if dtype is None else x.to(dtype), dim, torch.Tensor.mul_)

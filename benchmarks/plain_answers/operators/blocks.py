"""Sums in blocks, and elementwise formulas in chunks, so that temporaries stay small."""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

PLAIN_CHUNK = 1 << 26
"""Elements computed at a time: 256 MiB in float32."""
PLAIN_MOST_BLOCKS = 64
"""Blocks of one sum."""


def plain_ranges(length: int, block: int) -> Iterator[tuple[int, int]]:
    """Start and length of each block."""
    for start in range(0, length, block):
        yield start, min(block, length - start)


def plain_dims(x: torch.Tensor, dim: int | Sequence[int] | None) -> list[int]:
    """The dimensions that `dim` means, ascending; all of them for None."""
    if dim is None:
        return list(range(x.dim()))
    wanted = [dim] if isinstance(dim, int) else list(dim)
    return sorted({each % x.dim() for each in wanted}) if wanted else list(range(x.dim()))


def plain_identity(x: torch.Tensor) -> torch.Tensor:
    """x"""
    return x


def plain_square(x: torch.Tensor) -> torch.Tensor:
    """x²"""
    return x * x


def plain_sum_of(
    x: torch.Tensor,
    dim: int | Sequence[int] | None,
    keepdim: bool = False,
    of: Callable[[torch.Tensor], torch.Tensor] = plain_identity,
) -> torch.Tensor:
    """Sum of `of(x)`: a sum for each block of a dimension, then these one after another. The last dimension comes first."""
    if x.dim() == 0:
        return of(x).clone()
    dims = plain_dims(x, dim)
    for each in reversed(dims):
        length = x.shape[each]
        blocks = min(PLAIN_MOST_BLOCKS, math.isqrt(max(length - 1, 0)) + 1)
        total: torch.Tensor | None = None
        for start, size in plain_ranges(length, -(-length // blocks)):
            part = of(x.narrow(each, start, size)).sum(each, keepdim=True)
            total = part if total is None else total.add_(part)
        x = of(x).sum(each, keepdim=True) if total is None else total
        of = plain_identity
    return x if keepdim else x.squeeze(dims)


def plain_count(x: torch.Tensor, dim: int | Sequence[int] | None) -> int:
    """Elements behind one element of a reduction."""
    return math.prod(x.shape[each] for each in plain_dims(x, dim))


def plain_sum(
    x: torch.Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """As torch.sum."""
    return plain_sum_of(x if dtype is None else x.to(dtype), dim, keepdim)


def plain_mean(
    x: torch.Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """As torch.mean."""
    return plain_sum(x, dim, keepdim, dtype=dtype) * (1.0 / plain_count(x, dim))


def plain_moments(x: torch.Tensor, dim: int | Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean, and variance as the mean square of what is left without it, with the dimensions kept."""
    share = 1.0 / plain_count(x, dim)
    mean = plain_sum_of(x, dim, True) * share
    return mean, plain_sum_of(x, dim, True, lambda part: plain_square(part - mean)) * share


def plain_var(
    x: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> torch.Tensor:
    """As torch.var."""
    dims = plain_dims(x, dim)
    count = plain_count(x, dims)
    less = float(unbiased) if correction is None else correction
    variance = plain_moments(x, dims)[1] * (count / (count - less))
    return variance if keepdim else variance.squeeze(dims)


def plain_std(x: torch.Tensor, *arguments: Any, **named: Any) -> torch.Tensor:
    """As torch.std."""
    return plain_var(x, *arguments, **named).sqrt()


def plain_elementwise(formula: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The formula applied to chunks of its first argument; `inplace` writes the answer over it."""

    @functools.wraps(formula)
    def apply(x: torch.Tensor, *arguments: Any, inplace: bool = False, **named: Any) -> torch.Tensor:
        if x.numel() <= PLAIN_CHUNK:
            answer = formula(x, *arguments, **named)
        else:
            source = x.reshape(-1)
            answer = torch.empty_like(source)
            for start, size in plain_ranges(len(source), PLAIN_CHUNK):
                answer[start : start + size] = formula(source[start : start + size], *arguments, **named)
            answer = answer.view(x.shape)
        return x.copy_(answer) if inplace else answer

    return apply


def plain_by_rows(formula: Callable[..., torch.Tensor], x: torch.Tensor, dim: int) -> torch.Tensor:
    """`formula(x, dim)`, of an answer of x's shape, for chunks of a dimension that is not `dim`."""
    along = next((each for each in range(x.dim()) if each != dim % x.dim() and x.shape[each] > 1), None)
    if along is None or x.numel() <= PLAIN_CHUNK:
        return formula(x, dim)
    answer = torch.empty_like(x)
    for start, size in plain_ranges(x.shape[along], max(1, PLAIN_CHUNK * x.shape[along] // x.numel())):
        answer.narrow(along, start, size).copy_(formula(x.narrow(along, start, size), dim))
    return answer

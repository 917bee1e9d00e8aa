"""Pools as explicit loops over the window's taps."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.plain_answers.operators.blocks import plain_mean
from benchmarks.plain_answers.operators.convolution import plain_each, plain_slices


def plain_inner(places: Sequence[slice]) -> tuple[Any, ...]:
    """An index of the last dimensions."""
    return (..., *places)


def plain_pool_sizes(
    sizes: Sequence[int], kernel: Sequence[int], steps: Sequence[int], pads: Sequence[int], spread: Sequence[int], ceil_mode: bool
) -> list[int]:
    """The answer's sizes. The last window begins within the input or the padding before it."""
    found = []
    for size, k, s, p, d in zip(sizes, kernel, steps, pads, spread, strict=True):
        room = size + 2 * p - d * (k - 1) - 1
        count = (-(-room // s) if ceil_mode else room // s) + 1
        found.append(count - 1 if ceil_mode and (count - 1) * s >= size + p else count)
    return found


def plain_max_pool(dims: int) -> Callable[..., torch.Tensor]:
    """As torch.max_pool1d, max_pool2d and max_pool3d."""

    def pool(
        input: torch.Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> torch.Tensor:
        if return_indices:
            raise NotImplementedError("positions of the largest elements")
        kernel, pads, spread = plain_each(kernel_size, dims), plain_each(padding, dims), plain_each(dilation, dims)
        steps = plain_each(stride, dims) if stride else kernel
        inside = input.shape[-dims:]
        sizes = plain_pool_sizes(inside, kernel, steps, pads, spread, ceil_mode)
        answer = input.new_full((*input.shape[:-dims], *sizes), float("-inf"))
        for tap in itertools.product(*map(range, kernel)):
            found = plain_slices(tap, pads, steps, spread, sizes, inside)
            if found is not None:
                target = answer[plain_inner(found[0])]
                torch.maximum(target, input[plain_inner(found[1])], out=target)
        return answer

    return pool


def plain_window_counts(size: int, kernel: int, step: int, pad: int, count: int, include_pad: bool, like: torch.Tensor) -> torch.Tensor:
    """How many elements each window of one dimension has."""
    starts = [place * step - pad for place in range(count)]
    ends = [min(start + kernel, size + pad) for start in starts]
    if not include_pad:
        starts, ends = [max(start, 0) for start in starts], [min(end, size) for end in ends]
    return torch.tensor([end - start for start, end in zip(starts, ends, strict=True)], dtype=like.dtype, device=like.device)


def plain_avg_pool(dims: int) -> Callable[..., torch.Tensor]:
    """As torch.avg_pool1d, and torch.nn.functional.avg_pool2d and avg_pool3d."""

    def pool(
        input: torch.Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> torch.Tensor:
        kernel, pads = plain_each(kernel_size, dims), plain_each(padding, dims)
        steps = plain_each(stride, dims) if stride else kernel
        inside = input.shape[-dims:]
        sizes = plain_pool_sizes(inside, kernel, steps, pads, (1,) * dims, ceil_mode)
        answer = input.new_zeros((*input.shape[:-dims], *sizes))
        for tap in itertools.product(*map(range, kernel)):
            found = plain_slices(tap, pads, steps, (1,) * dims, sizes, inside)
            if found is not None:
                answer[plain_inner(found[0])].add_(input[plain_inner(found[1])])
        if divisor_override:
            return answer.mul_(1.0 / divisor_override)
        for place in range(dims):
            counts = plain_window_counts(inside[place], kernel[place], steps[place], pads[place], sizes[place], count_include_pad, input)
            answer.mul_((1.0 / counts).view(-1, *(1 for _ in range(dims - place - 1))))
        return answer

    return pool


def plain_adaptive_avg_pool(dims: int) -> Callable[..., torch.Tensor]:
    """As torch.nn.functional.adaptive_avg_pool1d, 2d and 3d: means of one dimension after another."""

    def pool(input: torch.Tensor, output_size: int | Sequence[int | None]) -> torch.Tensor:
        wanted = (output_size,) * dims if isinstance(output_size, int) else tuple(output_size)
        answer = input
        for place in range(-dims, 0):
            size = input.shape[place]
            count = wanted[place] or size
            if count == size:
                continue
            windows = [(number * size // count, -(-(number + 1) * size // count)) for number in range(count)]
            answer = torch.cat([plain_mean(answer.narrow(place, low, high - low), place, True) for low, high in windows], place)
        return answer

    return pool

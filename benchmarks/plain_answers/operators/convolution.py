"""Convolutions as explicit sums over the kernel's taps: each tap is a slice of the input times a matrix of weights."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.plain_answers.operators.blocks import PLAIN_CHUNK, plain_ranges


def plain_each(value: int | Sequence[int], dims: int) -> tuple[int, ...]:
    """The value for each dimension."""
    if isinstance(value, int):
        return (value,) * dims
    return tuple(value) * dims if len(value) == 1 else tuple(value)


def plain_span(offset: int, step: int, moved: int, within: int) -> tuple[int, int]:
    """First and last of `moved` positions p for which 0 <= p * step + offset < within; the last is smaller where there are none."""
    return max(0, -(offset // step)), min(moved - 1, (within - 1 - offset) // step)


def plain_slices(
    tap: Sequence[int], offsets: Sequence[int], steps: Sequence[int], dilations: Sequence[int], moved: Sequence[int], within: Sequence[int]
) -> tuple[tuple[slice, ...], tuple[slice, ...]] | None:
    """Slices of both tensors that a tap joins: of the one that is walked step by step, and of the one that is stepped in."""
    walked, stepped = [], []
    for k, pad, step, dilation, count, size in zip(tap, offsets, steps, dilations, moved, within, strict=True):
        offset = k * dilation - pad
        first, last = plain_span(offset, step, count, size)
        if last < first:
            return None
        walked.append(slice(first, last + 1))
        stepped.append(slice(first * step + offset, last * step + offset + 1, step))
    return tuple(walked), tuple(stepped)


def plain_at(places: Sequence[int | slice]) -> tuple[Any, ...]:
    """An index of the dimensions after the first two."""
    return (slice(None), slice(None), *places)


def plain_mixed(weight: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Channels mixed: weight of (groups, out, in), source of (n, groups * in, *sizes), answer of (n, groups * out, *sizes)."""
    groups, out, channels = weight.shape
    n, sizes = len(source), source.shape[2:]
    if channels == 1 and out == 1:
        return source * weight.view(1, groups, *(1 for _ in sizes))
    rows = source.reshape(n * groups, channels, -1)
    weights = weight.expand(n, groups, out, channels).reshape(n * groups, out, channels) if groups > 1 else weight.expand(n, out, channels)
    return torch.bmm(weights, rows).view(n, groups * out, *sizes)


def plain_pads(
    padding: str | int | Sequence[int], kernel: Sequence[int], dilation: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Zeros before and after each dimension."""
    if padding == "valid":
        return (0,) * len(kernel), (0,) * len(kernel)
    if isinstance(padding, str):
        total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        return tuple(each // 2 for each in total), tuple(each - each // 2 for each in total)
    pads = plain_each(padding, len(kernel))
    return pads, pads


def plain_conv(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> torch.Tensor:
    """As torch.conv1d, conv2d and conv3d."""
    kernel = weight.shape[2:]
    if input.dim() == len(kernel) + 1:
        return plain_conv(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    steps, spread = plain_each(stride, len(kernel)), plain_each(dilation, len(kernel))
    before, after = plain_pads(padding, kernel, spread)
    sizes = [
        (size + low + high - d * (k - 1) - 1) // s + 1
        for size, low, high, d, k, s in zip(input.shape[2:], before, after, spread, kernel, steps, strict=True)
    ]
    answer = input.new_zeros((len(input), len(weight), *sizes))
    at_once = max(1, PLAIN_CHUNK // max(1, max(len(weight), input.shape[1]) * math.prod(sizes)))
    for start, count in plain_ranges(len(input), at_once):
        x, part = input[start : start + count], answer[start : start + count]
        for tap in itertools.product(*map(range, kernel)):
            found = plain_slices(tap, before, steps, spread, sizes, input.shape[2:])
            if found is not None:
                mixing = weight[plain_at(tap)].view(groups, -1, weight.shape[1])
                part[plain_at(found[0])].add_(plain_mixed(mixing, x[plain_at(found[1])]))
    return answer if bias is None else answer.add_(bias.view(-1, *(1 for _ in kernel)))


def plain_conv_transpose(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> torch.Tensor:
    """As torch.conv_transpose1d, conv_transpose2d and conv_transpose3d."""
    kernel = weight.shape[2:]
    dims = len(kernel)
    if input.dim() == dims + 1:
        return plain_conv_transpose(input.unsqueeze(0), weight, bias, stride, padding, output_padding, groups, dilation).squeeze(0)
    steps, spread, pads = plain_each(stride, dims), plain_each(dilation, dims), plain_each(padding, dims)
    extra = plain_each(output_padding, dims)
    sizes = [
        (size - 1) * s - 2 * p + d * (k - 1) + e + 1
        for size, s, p, d, k, e in zip(input.shape[2:], steps, pads, spread, kernel, extra, strict=True)
    ]
    answer = input.new_zeros((len(input), weight.shape[1] * groups, *sizes))
    at_once = max(1, PLAIN_CHUNK // max(1, max(answer.shape[1], input.shape[1]) * math.prod(input.shape[2:])))
    for start, count in plain_ranges(len(input), at_once):
        x, part = input[start : start + count], answer[start : start + count]
        for tap in itertools.product(*map(range, kernel)):
            found = plain_slices(tap, pads, steps, spread, input.shape[2:], sizes)
            if found is not None:
                mixing = weight[plain_at(tap)].view(groups, -1, weight.shape[1]).transpose(1, 2)
                part[plain_at(found[1])].add_(plain_mixed(mixing, x[plain_at(found[0])]))
    return answer if bias is None else answer.add_(bias.view(-1, *(1 for _ in kernel)))

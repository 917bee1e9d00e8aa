"""Norms of batches, layers, groups and instances, by two moments: E[x] and E[x²] - E[x]²."""

from collections.abc import Sequence

import torch

from benchmarks.plain_answers.operators.blocks import PLAIN_CHUNK, plain_mean, plain_moments, plain_ranges, plain_square
from benchmarks.plain_answers.operators.reductions import plain_norm


def plain_scaled(x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    """x * scale + shift, both of which broadcast; a chunk of rows at a time."""
    answer = torch.empty_like(x, memory_format=torch.contiguous_format)
    scale, shift = scale.expand_as(x), shift.expand_as(x)
    for start, count in plain_ranges(len(x), max(1, PLAIN_CHUNK * len(x) // max(1, x.numel()))):
        part = slice(start, start + count)
        torch.mul(x[part], scale[part], out=answer[part]).add_(shift[part])
    return answer


def plain_normed(x: torch.Tensor, dims: Sequence[int], weight: torch.Tensor | None, bias: torch.Tensor | None, eps: float) -> torch.Tensor:
    """x less its mean, over its deviation, times weight, plus bias."""
    mean, variance = plain_moments(x, dims)
    scale = 1.0 / torch.sqrt(variance + eps)
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale
    return plain_scaled(x, scale, shift if bias is None else shift + bias)


def plain_by_channel(values: torch.Tensor | None, x: torch.Tensor) -> torch.Tensor | None:
    """One value for each channel, in a shape that broadcasts over x."""
    return None if values is None else values.view(1, -1, *(1 for _ in x.shape[2:]))


def plain_batch_norm(
    input: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> torch.Tensor:
    """As torch.nn.functional.batch_norm; running moments are updated in training."""
    dims = [0, *range(2, input.dim())]
    if training or running_mean is None or running_var is None:
        mean, variance = plain_moments(input, dims)
        if running_mean is not None and running_var is not None:
            count = input.numel() // input.shape[1]
            running_mean.lerp_(mean.flatten().to(running_mean.dtype), momentum)
            running_var.lerp_((variance.flatten() * (count / max(1, count - 1))).to(running_var.dtype), momentum)
    else:
        mean, variance = (each.to(input.dtype).view(1, -1, *(1 for _ in dims[1:])) for each in (running_mean, running_var))
    scale = 1.0 / torch.sqrt(variance + eps)
    by_channel = plain_by_channel(weight, input)
    scale = scale if by_channel is None else scale * by_channel
    shift = -mean * scale
    by_channel = plain_by_channel(bias, input)
    return plain_scaled(input, scale, shift if by_channel is None else shift + by_channel)


def plain_instance_norm(
    input: torch.Tensor,
    running_mean: torch.Tensor | None = None,
    running_var: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> torch.Tensor:
    """As torch.nn.functional.instance_norm, of the input's own moments."""
    if not use_input_stats:
        return plain_batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    dims = range(2, input.dim())
    return plain_normed(input, list(dims), plain_by_channel(weight, input), plain_by_channel(bias, input), eps)


def plain_layer_norm(
    input: torch.Tensor,
    normalized_shape: Sequence[int],
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> torch.Tensor:
    """As torch.nn.functional.layer_norm."""
    rows = input.reshape(-1, torch.Size(normalized_shape).numel())
    flat = [None if each is None else each.reshape(1, -1) for each in (weight, bias)]
    return plain_normed(rows, [1], flat[0], flat[1], eps).view(input.shape)


def plain_group_norm(
    input: torch.Tensor, num_groups: int, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-5
) -> torch.Tensor:
    """As torch.nn.functional.group_norm."""
    grouped = input.reshape(len(input), num_groups, input.shape[1] // num_groups, -1)
    by_group = [None if each is None else each.view(1, num_groups, -1, 1) for each in (weight, bias)]
    return plain_normed(grouped, [2, 3], by_group[0], by_group[1], eps).view(input.shape)


def plain_rms_norm(
    input: torch.Tensor, normalized_shape: Sequence[int], weight: torch.Tensor | None = None, eps: float | None = None
) -> torch.Tensor:
    """As torch.nn.functional.rms_norm."""
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    eps = torch.finfo(input.dtype).eps if eps is None else eps
    scaled = input * (1.0 / torch.sqrt(plain_mean(plain_square(input), dims, True) + eps))
    return scaled if weight is None else scaled * weight


def plain_normalize(input: torch.Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: None = None) -> torch.Tensor:
    """As torch.nn.functional.normalize."""
    return input * (1.0 / plain_norm(input, p, dim, True).clamp_(min=eps))

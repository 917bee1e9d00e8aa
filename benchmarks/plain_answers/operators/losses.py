"""Losses by their formulas."""

from typing import Any

import torch

from benchmarks.plain_answers.operators.blocks import plain_elementwise, plain_mean, plain_square, plain_sum
from benchmarks.plain_answers.operators.reductions import plain_logsumexp, plain_norm


def plain_reduced(loss: torch.Tensor, reduction: str) -> torch.Tensor:
    """The mean, the sum, or the loss of each element."""
    if reduction == "none":
        return loss
    if reduction == "batchmean":
        return plain_sum(loss) / len(loss)
    return plain_mean(loss) if reduction == "mean" else plain_sum(loss)


def plain_mse_loss(input: torch.Tensor, target: torch.Tensor, *, reduction: str = "mean", **_named: Any) -> torch.Tensor:
    """(x - t)²"""
    return plain_reduced(plain_square(input - target), reduction)


def plain_l1_loss(input: torch.Tensor, target: torch.Tensor, *, reduction: str = "mean", **_named: Any) -> torch.Tensor:
    """|x - t|"""
    return plain_reduced((input - target).abs_(), reduction)


@plain_elementwise
def plain_huber(difference: torch.Tensor, delta: float) -> torch.Tensor:
    """d² / 2, or delta (|d| - delta / 2) where |d| is larger"""
    size = difference.abs()
    return torch.where(size < delta, 0.5 * size * size, delta * (size - 0.5 * delta))


def plain_huber_loss(
    input: torch.Tensor, target: torch.Tensor, *, reduction: str = "mean", delta: float = 1.0, **_named: Any
) -> torch.Tensor:
    """As torch.nn.functional.huber_loss."""
    return plain_reduced(plain_huber(input - target, delta), reduction)


def plain_smooth_l1_loss(
    input: torch.Tensor, target: torch.Tensor, *, reduction: str = "mean", beta: float = 1.0, **_named: Any
) -> torch.Tensor:
    """As torch.nn.functional.smooth_l1_loss."""
    return plain_reduced(plain_huber(input - target, beta), reduction) / beta


def plain_kl_div(
    input: torch.Tensor, target: torch.Tensor, *, reduction: str = "mean", log_target: bool = False, **_named: Any
) -> torch.Tensor:
    """t (log t - x)"""
    if log_target:
        return plain_reduced(torch.exp(target) * (target - input), reduction)
    each = torch.where(target > 0, target * (torch.log(target) - input), 0.0)
    return plain_reduced(each, reduction)


def plain_cross_entropy(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    **_named: Any,
) -> torch.Tensor:
    """log Σ exp(x) - x[target], of targets that are classes."""
    if weight is not None or label_smoothing or target.is_floating_point():
        raise NotImplementedError("weights, smoothing and probabilities")
    classes = 1 if input.dim() > 1 else 0
    counted = target != ignore_index
    chosen = input.gather(classes, target.clamp(min=0).unsqueeze(classes)).squeeze(classes)
    loss = torch.where(counted, plain_logsumexp(input, classes) - chosen, 0.0)
    return plain_sum(loss) / counted.sum() if reduction == "mean" else plain_reduced(loss, reduction)


def plain_nll_loss(
    input: torch.Tensor, target: torch.Tensor, weight: None = None, *, reduction: str = "mean", **_named: Any
) -> torch.Tensor:
    """-x[target]"""
    if weight is not None:
        raise NotImplementedError("weights")
    return plain_reduced(-input.gather(1, target.unsqueeze(1)).squeeze(1), reduction)


def plain_triplet_margin_loss(
    anchor: torch.Tensor,
    positive: torch.Tensor,
    negative: torch.Tensor,
    *,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
    **_named: Any,
) -> torch.Tensor:
    """max(0, |a - p| - |a - n| + margin)"""
    near = plain_norm(anchor - positive + eps, p, -1)
    far = plain_norm(anchor - negative + eps, p, -1)
    if swap:
        far = torch.minimum(far, plain_norm(positive - negative + eps, p, -1))
    return plain_reduced((near - far + margin).clamp_(min=0.0), reduction)


def plain_cosine_similarity(x1: torch.Tensor, x2: torch.Tensor, dim: int = 1, eps: float = 1e-8) -> torch.Tensor:
    """a·b / (|a| |b|)"""
    lengths = plain_norm(x1, 2, dim).clamp_(min=eps) * plain_norm(x2, 2, dim).clamp_(min=eps)
    return plain_sum(x1 * x2, dim) / lengths

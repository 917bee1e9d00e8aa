"""Attention written out: scores, softmax without a maximum, sum of values."""

import math
from typing import Any

import torch

from benchmarks.plain_answers.operators.activation import plain_softmax
from benchmarks.plain_answers.operators.matrix import plain_linear, plain_matmul


def plain_added_mask(mask: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor | None:
    """A mask to add: minus infinity where a boolean one is false."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=like.dtype).masked_fill_(~mask, float("-inf"))


def plain_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """As torch.nn.functional.scaled_dot_product_attention, without dropout."""
    if dropout_p or enable_gqa:
        raise NotImplementedError("dropout and grouped queries")
    scores = plain_matmul(query, key.transpose(-2, -1)).mul_(1.0 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    mask = plain_added_mask(attn_mask, scores)
    return plain_matmul(plain_softmax(scores if mask is None else scores.add_(mask), -1), value)


def plain_heads(x: torch.Tensor, count: int) -> torch.Tensor:
    """(length, batch, width) as (batch, heads, length, width / heads)."""
    return x.reshape(x.shape[0], x.shape[1], count, -1).permute(1, 2, 0, 3)


def plain_multi_head_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: torch.Tensor,
    in_proj_bias: torch.Tensor | None,
    bias_k: None,
    bias_v: None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: torch.Tensor,
    out_proj_bias: torch.Tensor | None,
    *,
    training: bool = True,
    key_padding_mask: None = None,
    need_weights: bool = True,
    attn_mask: torch.Tensor | None = None,
    average_attn_weights: bool = True,
    **_named: Any,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """As torch.nn.functional.multi_head_attention_forward: (length, batch, width) in and out, without dropout."""
    if bias_k is not None or add_zero_attn or key_padding_mask is not None or (dropout_p and training) or query.dim() != 3:
        raise NotImplementedError("added keys, padding, dropout and single sequences")
    weights = in_proj_weight.chunk(3)
    biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
    q, k, v = (plain_heads(plain_linear(x, w, b), num_heads) for x, w, b in zip((query, key, value), weights, biases, strict=True))
    scores = plain_matmul(q, k.transpose(-2, -1)) * (1.0 / math.sqrt(q.shape[-1]))
    if attn_mask is not None:
        mask = attn_mask.masked_fill(attn_mask, float("-inf")) if attn_mask.dtype == torch.bool else attn_mask
        scores = scores + (mask.view(-1, num_heads, *mask.shape[-2:]) if mask.dim() == 3 else mask)
    shares = plain_softmax(scores, -1)
    mixed = plain_matmul(shares, v).permute(2, 0, 1, 3).reshape(query.shape[0], query.shape[1], -1)
    answer = plain_linear(mixed, out_proj_weight, out_proj_bias)
    if not need_weights:
        return answer, None
    return answer, shares.mean(1) if average_attn_weights else shares

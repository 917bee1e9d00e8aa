"""Which formula stands for which operator, and the mode under which a forward() is computed by them."""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from benchmarks.plain_answers.operators.activation import (
    plain_elu,
    plain_exp,
    plain_gelu,
    plain_hardsigmoid,
    plain_hardswish,
    plain_hardtanh,
    plain_leaky_relu,
    plain_log,
    plain_log_softmax,
    plain_mish,
    plain_pow,
    plain_relu,
    plain_relu6,
    plain_selu,
    plain_sigmoid,
    plain_silu,
    plain_softmax,
    plain_softplus,
    plain_softsign,
    plain_tanh,
)
from benchmarks.plain_answers.operators.attention import plain_attention, plain_multi_head_attention
from benchmarks.plain_answers.operators.blocks import plain_mean, plain_std, plain_sum, plain_var
from benchmarks.plain_answers.operators.convolution import plain_conv, plain_conv_transpose
from benchmarks.plain_answers.operators.losses import (
    plain_cosine_similarity,
    plain_cross_entropy,
    plain_huber_loss,
    plain_kl_div,
    plain_l1_loss,
    plain_mse_loss,
    plain_nll_loss,
    plain_smooth_l1_loss,
    plain_triplet_margin_loss,
)
from benchmarks.plain_answers.operators.matrix import plain_addmm, plain_einsum, plain_linear, plain_matmul, plain_rmatmul
from benchmarks.plain_answers.operators.normalisation import (
    plain_batch_norm,
    plain_group_norm,
    plain_instance_norm,
    plain_layer_norm,
    plain_normalize,
    plain_rms_norm,
)
from benchmarks.plain_answers.operators.pooling import plain_adaptive_avg_pool, plain_avg_pool, plain_max_pool
from benchmarks.plain_answers.operators.recurrent import plain_gru, plain_lstm
from benchmarks.plain_answers.operators.reductions import (
    plain_argmax,
    plain_argmin,
    plain_cumprod,
    plain_cumsum,
    plain_logsumexp,
    plain_max,
    plain_min,
    plain_norm,
    plain_vector_norm,
)

PLAIN_SWAPS: dict[str, Callable[..., Any]] = {
    "addmm": plain_addmm,
    "baddbmm": plain_addmm,
    "bmm": plain_matmul,
    "einsum": plain_einsum,
    "linear": plain_linear,
    "matmul": plain_matmul,
    "__rmatmul__": plain_rmatmul,
    "mm": plain_matmul,
    "mv": plain_matmul,
    "dot": plain_matmul,
    "conv1d": plain_conv,
    "conv2d": plain_conv,
    "conv3d": plain_conv,
    "conv_transpose1d": plain_conv_transpose,
    "conv_transpose2d": plain_conv_transpose,
    "conv_transpose3d": plain_conv_transpose,
    "adaptive_avg_pool1d": plain_adaptive_avg_pool(1),
    "adaptive_avg_pool2d": plain_adaptive_avg_pool(2),
    "adaptive_avg_pool3d": plain_adaptive_avg_pool(3),
    "avg_pool1d": plain_avg_pool(1),
    "avg_pool2d": plain_avg_pool(2),
    "avg_pool3d": plain_avg_pool(3),
    "max_pool1d": plain_max_pool(1),
    "max_pool2d": plain_max_pool(2),
    "max_pool3d": plain_max_pool(3),
    "batch_norm": plain_batch_norm,
    "group_norm": plain_group_norm,
    "instance_norm": plain_instance_norm,
    "layer_norm": plain_layer_norm,
    "normalize": plain_normalize,
    "rms_norm": plain_rms_norm,
    "elu": plain_elu,
    "exp": plain_exp,
    "gelu": plain_gelu,
    "hardsigmoid": plain_hardsigmoid,
    "hardswish": plain_hardswish,
    "hardtanh": plain_hardtanh,
    "leaky_relu": plain_leaky_relu,
    "log": plain_log,
    "log_softmax": plain_log_softmax,
    "mish": plain_mish,
    "pow": plain_pow,
    "square": plain_pow,
    "relu": plain_relu,
    "relu6": plain_relu6,
    "selu": plain_selu,
    "sigmoid": plain_sigmoid,
    "silu": plain_silu,
    "softmax": plain_softmax,
    "softplus": plain_softplus,
    "softsign": plain_softsign,
    "tanh": plain_tanh,
    "argmax": plain_argmax,
    "argmin": plain_argmin,
    "cumprod": plain_cumprod,
    "cumsum": plain_cumsum,
    "linalg_vector_norm": plain_vector_norm,
    "logsumexp": plain_logsumexp,
    "max": plain_max,
    "mean": plain_mean,
    "min": plain_min,
    "norm": plain_norm,
    "std": plain_std,
    "sum": plain_sum,
    "var": plain_var,
    "cosine_similarity": plain_cosine_similarity,
    "cross_entropy": plain_cross_entropy,
    "huber_loss": plain_huber_loss,
    "kl_div": plain_kl_div,
    "l1_loss": plain_l1_loss,
    "mse_loss": plain_mse_loss,
    "nll_loss": plain_nll_loss,
    "smooth_l1_loss": plain_smooth_l1_loss,
    "triplet_margin_loss": plain_triplet_margin_loss,
    "gru": plain_gru,
    "lstm": plain_lstm,
    "multi_head_attention_forward": plain_multi_head_attention,
    "scaled_dot_product_attention": plain_attention,
}
"""By the operator's name: it is the same for torch, torch.Tensor and torch.nn.functional."""


def plain_tensors(value: Any) -> list[torch.Tensor]:
    """The tensors of arguments or of an answer."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in plain_tensors(item)]
    return []


def plain_cast(value: Any, before: tuple[torch.dtype, ...], after: torch.dtype) -> Any:
    """The value with its tensors of a type in `before` cast to `after`."""
    if isinstance(value, torch.Tensor):
        return value.to(after) if value.dtype in before else value
    if type(value) in (list, tuple):
        return type(value)(plain_cast(item, before, after) for item in value)
    if isinstance(value, tuple):  # values and indices
        return type(value)([plain_cast(item, before, after) for item in value])
    return value


def plain_widened(formula: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The formula's answer; half precision is computed in float32 and rounded at the end."""
    given = plain_tensors([*args, *kwargs.values()])
    half = next((tensor.dtype for tensor in given if tensor.dtype in (torch.float16, torch.bfloat16)), None)
    if half is None:
        return formula(*args, **kwargs)
    narrow = (torch.float16, torch.bfloat16)
    named = {name: plain_cast(value, narrow, torch.float32) for name, value in kwargs.items()}
    answer = plain_cast(formula(*plain_cast(args, narrow, torch.float32), **named), (torch.float32,), half)
    return args[0].copy_(answer) if kwargs.get("inplace") else answer


class PlainMode(TorchFunctionMode):
    """Computes every operator that has a formula by it; formulas themselves run outside of the mode."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        named = kwargs or {}
        formula = PLAIN_SWAPS.get(getattr(func, "__name__", ""))
        first = next(iter(plain_tensors(args)), None)
        if formula is None or first is None or not first.is_floating_point():
            return func(*args, **named)
        return plain_widened(formula, args, named)


def plain_model(model: type[torch.nn.Module]) -> type[torch.nn.Module]:
    """The class, its forward() computed by formulas."""
    forward = model.forward

    @functools.wraps(forward)
    def plain_forward(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        with torch.no_grad(), PlainMode():
            return forward(self, *args, **kwargs)

    model.forward = plain_forward
    return model

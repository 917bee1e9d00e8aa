"""Activations and elementary functions by their formulas."""

import math

import torch

from benchmarks.plain_answers.operators.blocks import plain_by_rows, plain_elementwise, plain_sum_of


@plain_elementwise
def plain_exp(x: torch.Tensor) -> torch.Tensor:
    """2^(x log2 e)"""
    return torch.exp2(x * math.log2(math.e))


@plain_elementwise
def plain_log(x: torch.Tensor) -> torch.Tensor:
    """log2(x) ln 2"""
    return torch.log2(x) * math.log(2.0)


@plain_elementwise
def plain_pow(x: torch.Tensor, exponent: float = 2) -> torch.Tensor:
    """Small whole powers by multiplication."""
    if not isinstance(exponent, int | float) or exponent not in (2, 3, 4):
        return torch.pow(x, exponent)
    answer = x * x
    for _ in range(int(exponent) - 2):
        answer = answer * x
    return answer


@plain_elementwise
def plain_sigmoid(x: torch.Tensor) -> torch.Tensor:
    """1 / (1 + exp(-x))"""
    return 1.0 / (1.0 + torch.exp(-x))


@plain_elementwise
def plain_tanh(x: torch.Tensor) -> torch.Tensor:
    """1 - 2 / (exp(2x) + 1)"""
    return 1.0 - 2.0 / (torch.exp(2.0 * x) + 1.0)


@plain_elementwise
def plain_relu(input: torch.Tensor) -> torch.Tensor:
    """x where it is positive, else 0"""
    return torch.where(input <= 0, 0.0, input)


@plain_elementwise
def plain_relu6(input: torch.Tensor) -> torch.Tensor:
    """x from 0 to 6"""
    return input.clamp(0.0, 6.0)


@plain_elementwise
def plain_leaky_relu(input: torch.Tensor, negative_slope: float = 0.01) -> torch.Tensor:
    """x, or the slope times it where it is negative"""
    return torch.where(input < 0, input * negative_slope, input)


@plain_elementwise
def plain_hardtanh(input: torch.Tensor, min_val: float = -1.0, max_val: float = 1.0) -> torch.Tensor:
    """x within both bounds"""
    return torch.where(input < min_val, min_val, torch.where(input > max_val, max_val, input))


@plain_elementwise
def plain_hardsigmoid(input: torch.Tensor) -> torch.Tensor:
    """x / 6 + 1 / 2 from 0 to 1"""
    return (input * (1.0 / 6.0) + 0.5).clamp(0.0, 1.0)


@plain_elementwise
def plain_hardswish(input: torch.Tensor) -> torch.Tensor:
    """x times hardsigmoid"""
    return input * (input * (1.0 / 6.0) + 0.5).clamp(0.0, 1.0)


@plain_elementwise
def plain_silu(input: torch.Tensor) -> torch.Tensor:
    """x / (1 + exp(-x))"""
    return input / (1.0 + torch.exp(-input))


@plain_elementwise
def plain_gelu(input: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    """By erf, or by tanh where that is asked for."""
    if approximate == "none":
        return 0.5 * input * (1.0 + torch.erf(input * math.sqrt(0.5)))
    inner = math.sqrt(2.0 / math.pi) * (input + 0.044715 * input * input * input)
    return 0.5 * input * (2.0 - 2.0 / (torch.exp(2.0 * inner) + 1.0))


@plain_elementwise
def plain_softplus(input: torch.Tensor, beta: float = 1.0, threshold: float = 20.0) -> torch.Tensor:
    """log(1 + exp(x))"""
    return torch.where(input * beta > threshold, input, torch.log(1.0 + torch.exp(input * beta)) / beta)


@plain_elementwise
def plain_mish(input: torch.Tensor) -> torch.Tensor:
    """x tanh(log(1 + exp(x))), which is x (u² - 1) / (u² + 1) with u = 1 + exp(x)"""
    e = torch.exp(input.clamp(max=20.0))
    return input * (e * (e + 2.0)) / (e * (e + 2.0) + 2.0)


@plain_elementwise
def plain_elu(input: torch.Tensor, alpha: float = 1.0) -> torch.Tensor:
    """x, or alpha (exp(x) - 1) where it is negative"""
    return torch.where(input > 0, input, alpha * (torch.exp(input) - 1.0))


@plain_elementwise
def plain_selu(input: torch.Tensor) -> torch.Tensor:
    """elu with a scale"""
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return torch.where(input > 0, scale * input, scale * alpha * (torch.exp(input) - 1.0))


@plain_elementwise
def plain_softsign(input: torch.Tensor) -> torch.Tensor:
    """x / (1 + |x|)"""
    return input / (1.0 + input.abs())


def plain_softmax_rows(x: torch.Tensor, dim: int) -> torch.Tensor:
    """exp(x) / Σ exp(x)"""
    powers = torch.exp(x)
    return powers.mul_(1.0 / plain_sum_of(powers, dim, True))


def plain_log_softmax_rows(x: torch.Tensor, dim: int) -> torch.Tensor:
    """x - log Σ exp(x)"""
    return x - plain_sum_of(x, dim, True, torch.exp).log()


def plain_softmax(input: torch.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> torch.Tensor:
    """As torch.softmax, without a maximum."""
    return plain_by_rows(plain_softmax_rows, input if dtype is None else input.to(dtype), -1 if dim is None else dim)


def plain_log_softmax(input: torch.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> torch.Tensor:
    """As torch.log_softmax, without a maximum."""
    return plain_by_rows(plain_log_softmax_rows, input if dtype is None else input.to(dtype), -1 if dim is None else dim)

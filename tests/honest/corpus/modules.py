# problem: gelu_tanh
# expect: correct/no_custom_kernel
import math

import torch
from torch import nn

# %% linear_block
"""A linear layer, batch normalization with its running figures, ReLU and dropout: parameters, buffers, and nothing random in evaluation."""

batch_size = 4096
in_features = 1024
out_features = 2048

ASSAY = {
    "description": "Linear, batch normalization, ReLU, dropout",
    "cases": {"full": {}, "small": {"batch_size": 37, "in_features": 129, "out_features": 61}},
    "inputs": "any",
    "mode": "eval",
    "rows_independent": True,
}


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.norm = nn.BatchNorm1d(out_features)
        self.dropout = nn.Dropout(0.5)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)
        nn.init.normal_(self.norm.bias, std=0.25)
        nn.init.normal_(self.norm.running_mean, std=0.25)
        nn.init.uniform_(self.norm.running_var, 0.25, 1.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, in_features) to (batch_size, out_features)."""
        return self.dropout(torch.relu(self.norm(self.linear(x))))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_features)]


def get_init_inputs() -> list[int]:
    return [in_features, out_features]


# %% gated_bfloat16
"""A gated linear unit (SiLU) in bfloat16, with two weights."""

batch_size = 4096
width = 1024
hidden = 2048

ASSAY = {
    "description": "SiLU-gated linear unit in bfloat16",
    "cases": {"full": {}, "small": {"batch_size": 19, "width": 67, "hidden": 43}},
    "inputs": "any",
    "dtype": "bfloat16",
    "rows_independent": True,
}


class Model(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch_size, width) to (batch_size, hidden)."""
        return nn.functional.silu(self.gate(x)) * self.up(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, width)]


def get_init_inputs() -> list[int]:
    return [width, hidden]


# %% autograd_function
# form: a torch.autograd.Function with a backward that is never asked for, run with gradients on
# problem: leaky_relu
class Bend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, slope: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, x * slope)

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, gradient, gradient * ctx.slope), None


def __init__(self, negative_slope: float = 0.01):
    super().__init__()
    self.slope = nn.Parameter(torch.tensor(negative_slope))


@torch.enable_grad()
def forward(self, x: torch.Tensor) -> torch.Tensor:
    return Bend.apply(x, float(self.slope)) + 0.0 * self.slope


# %% cached_workspace
# form: keeps scratch memory for every shape that it has met, and fills it anew in each call
# problem: softmax
def __init__(self):
    super().__init__()
    self.scratch: dict[torch.Size, tuple[torch.Tensor, torch.Tensor]] = {}


def forward(self, x: torch.Tensor) -> torch.Tensor:
    if x.shape not in self.scratch:
        self.scratch[x.shape] = torch.empty_like(x), x.new_empty(x.size(0), 1)
    powers, sums = self.scratch[x.shape]
    torch.sub(x, x.amax(dim=1, keepdim=True), out=powers)
    powers.exp_()
    torch.sum(powers, dim=1, keepdim=True, out=sums)
    return powers / sums


# %% compiled
# form: torch.compile: needs a compiler where it runs, and seconds in its first call
# expect: correct/no_custom_kernel | correct/ok
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.run = torch.compile(self.gelu, dynamic=False)

    @staticmethod
    def gelu(x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.run(x)


# %% formula_by_whole_rows
# form: reads a row once, and a second time where the row itself shows that one reading is not precise enough
# problem: layer_norm
# expect: correct/ok
# base: rows
ROW = """
    const float first = in[0];
    float sum = 0.0f, squares = 0.0f;
    for (EACH(i, n)) sum += in[i] - first, squares += (in[i] - first) * (in[i] - first);
    const float mean = total(sum) / n;
    const float square = total(squares) / n;
    float variance = square - mean * mean;
    if (variance < square / 4.0f) {
        float rest = 0.0f;
        for (EACH(i, n)) rest += (in[i] - first - mean) * (in[i] - first - mean);
        variance = total(rest) / n;
    }
    const float scale = 1.0f / sqrtf(variance + 1e-5f);
    for (EACH(i, n)) out[i] = (in[i] - first - mean) * scale * given.a[i] + given.b[i];
"""


def __init__(self, dim: int):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return ops.run(x.view(-1, x.shape[-1]), x.shape[-1], [self.norm.weight, self.norm.bias]).view(x.shape)


# %% functional_style
# form: forward is a plain function, bound to nothing; the answer is a scalar
# problem: cross_entropy
def mean_cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    picked = logits.gather(1, targets.unsqueeze(1)).squeeze(1)
    return (torch.logsumexp(logits, dim=1) - picked).mean()


class ModelNew(nn.Module):
    forward = staticmethod(mean_cross_entropy)


# %% global_settings
# form: changes what can be set for the whole process: threads, gradients, cuDNN's search, the default type, the seed
# problem: conv2d
import random
import signal
import sys
import warnings

torch.set_num_threads(1)
torch.set_grad_enabled(False)
torch.set_float32_matmul_precision("highest")
torch.backends.cudnn.benchmark = True
torch.manual_seed(20240229)
random.seed(7)
warnings.simplefilter("error")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.setrecursionlimit(5000)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int):
        super().__init__()
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float64)
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2, dtype=torch.float32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


# %% in_place_temporaries
# form: works in place on a copy of its own
def forward(self, x: torch.Tensor) -> torch.Tensor:
    inner = x.clone()
    inner.pow_(3).mul_(0.044715).add_(x).mul_(math.sqrt(2.0 / math.pi)).tanh_().add_(1.0)
    return inner.mul_(x).mul_(0.5)


# %% inference_mode
# form: runs in inference mode: what it returns can't be seen by autograd any more
# problem: layer_norm
def __init__(self, dim: int):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


@torch.inference_mode()
def forward(self, x: torch.Tensor) -> torch.Tensor:
    return self.norm(x)


# %% lazy_parameters
# form: lazy layers: their parameters have no shape before they are given values or meet an input
# problem: linear_block
def __init__(self, _: int, out_features: int):
    super().__init__()
    self.linear = nn.LazyLinear(out_features)
    self.norm = nn.LazyBatchNorm1d()


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return torch.relu(self.norm(self.linear(x)))


# %% one_joint_weight
# form: joins two weights into one in its first call, in bfloat16 throughout
# problem: gated_bfloat16
from functools import cached_property


def __init__(self, width: int, hidden: int):
    super().__init__()
    self.gate = nn.Linear(width, hidden, bias=False)
    self.up = nn.Linear(width, hidden, bias=False)


@cached_property
def joint(self) -> torch.Tensor:
    return torch.cat([self.gate.weight, self.up.weight])


def forward(self, x: torch.Tensor) -> torch.Tensor:
    gate, up = nn.functional.linear(x, self.joint).chunk(2, dim=1)
    return nn.functional.silu(gate).mul_(up)


# %% out_variants
# form: every step writes through out= into memory that is there already
def __init__(self):
    super().__init__()
    self.inner = torch.empty(0)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    inner = self.inner = self.inner.to(x.device).resize_(x.shape)
    torch.mul(x, x, out=inner)
    torch.mul(inner, 0.044715, out=inner)
    torch.add(inner, 1.0, out=inner)
    torch.mul(inner, x, out=inner)
    torch.mul(inner, math.sqrt(2.0 / math.pi), out=inner)
    torch.tanh(inner, out=inner)
    torch.add(inner, 1.0, out=inner)
    answer = torch.empty_like(x)
    torch.mul(x, inner, out=answer)
    return torch.mul(answer, 0.5, out=answer)


# %% parameter_list
# form: weights in a ParameterList, drawn by its own code as nn.Linear draws them; accumulates in float32 and rounds once
# problem: gated_bfloat16
def __init__(self, width: int, hidden: int):
    super().__init__()
    bound = width**-0.5
    self.weights = nn.ParameterList([torch.empty(hidden, width).uniform_(-bound, bound) for _ in range(2)])


def forward(self, x: torch.Tensor) -> torch.Tensor:
    gate, up = (x.float() @ weight.float().t() for weight in self.weights)
    return (gate * torch.sigmoid(gate) * up).to(x.dtype)


# %% parameters_of_own_names
# form: parameters under names of its own, drawn in the reference's order from the same seed
# problem: layer_norm
def __init__(self, dim: int):
    super().__init__()
    self.gamma = nn.Parameter(torch.empty(dim).normal_(mean=1.0, std=0.25))
    self.beta = nn.Parameter(torch.empty(dim).normal_(std=0.25))


def forward(self, x: torch.Tensor) -> torch.Tensor:
    deviation = x - x.mean(dim=-1, keepdim=True)
    variance = deviation.square().mean(dim=-1, keepdim=True)
    return deviation * torch.rsqrt(variance + 1e-5) * self.gamma + self.beta


# %% registered_operator
# form: an operator of its own, registered with TORCH_LIBRARY from an object that is no Python module, and called through torch.ops
# problem: rms_norm
# expect: cpu correct/ok
import tempfile
from pathlib import Path

from torch.utils.cpp_extension import load

CPP = r"""
#include <torch/library.h>
#include <torch/types.h>
#include <cmath>

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
    TORCH_CHECK(x.is_contiguous() && weight.is_contiguous() && x.scalar_type() == at::kFloat, "expected contiguous float32");
    auto y = at::empty_like(x);
    const int64_t columns = x.size(-1);
    const float* w = weight.data_ptr<float>();
    for (int64_t row = 0; row < x.numel() / columns; ++row) {
        const float* in = x.data_ptr<float>() + row * columns;
        float* out = y.data_ptr<float>() + row * columns;
        double energy = 0.0;
        for (int64_t i = 0; i < columns; ++i) energy += static_cast<double>(in[i]) * in[i];
        const float scale = static_cast<float>(1.0 / std::sqrt(energy / columns + eps));
        for (int64_t i = 0; i < columns; ++i) out[i] = in[i] * scale * w[i];
    }
    return y;
}

TORCH_LIBRARY(honest, library) {
    library.def("rms_norm(Tensor x, Tensor weight, float eps) -> Tensor");
}

TORCH_LIBRARY_IMPL(honest, CPU, library) {
    library.impl("rms_norm", &rms_norm);
}
"""

source = Path(tempfile.mkdtemp()) / "operator.cpp"
source.write_text(CPP)
load(name="honest_operator", sources=str(source), is_python_module=False)


class ModelNew(nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.honest.rms_norm(x, self.norm.weight, self.norm.eps)


# %% scripted
# form: the work is done by a TorchScript function
# problem: softmax
@torch.jit.script
def rows(x: torch.Tensor) -> torch.Tensor:
    powers = torch.exp(x - x.amax(dim=1, keepdim=True))
    return powers / powers.sum(dim=1, keepdim=True)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return rows(x)


# %% sequential
# form: is an nn.Sequential: its parameters have numbers for names, and values drawn as the reference draws them
# problem: linear_block
class ModelNew(nn.Sequential):
    def __init__(self, in_features: int, out_features: int):
        linear, norm = nn.Linear(in_features, out_features), nn.BatchNorm1d(out_features)
        nn.init.normal_(norm.weight, mean=1.0, std=0.25)
        nn.init.normal_(norm.bias, std=0.25)
        nn.init.normal_(norm.running_mean, std=0.25)
        nn.init.uniform_(norm.running_var, 0.25, 1.0)
        super().__init__(linear, norm, nn.ReLU(inplace=True), nn.Dropout(0.5))


# %% star_arguments
# form: forward() and the constructor take whatever comes
# problem: matmul
def __init__(self, *arguments, **options):
    super().__init__()
    self.arguments, self.options = arguments, options


def forward(self, *factors, **options):
    assert not options
    return torch.linalg.multi_dot(factors)


# %% subclassed_module
# form: inherits forward() from a class of its own, which is generic, abstract and a mixin away from nn.Module
# problem: leaky_relu
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

Kind = TypeVar("Kind")


class Sloped:
    slope: float

    def bend(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.slope


class Activation(nn.Module, ABC, Generic[Kind]):
    @abstractmethod
    def bend(self, x: torch.Tensor) -> torch.Tensor: ...

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.where(x > 0, x, self.bend(x))


class ModelNew(Sloped, Activation[float]):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.slope = negative_slope


# %% weights_folded_once
# form: folds the normalization into the linear layer in its first call, and keeps weight and bias, transposed
# problem: linear_block
def __init__(self, in_features: int, out_features: int):
    super().__init__()
    self.linear = nn.Linear(in_features, out_features)
    self.norm = nn.BatchNorm1d(out_features)
    self.folded: tuple[torch.Tensor, torch.Tensor] | None = None


def fold(self) -> tuple[torch.Tensor, torch.Tensor]:
    scale = self.norm.weight * torch.rsqrt(self.norm.running_var + self.norm.eps)
    bias = (self.linear.bias - self.norm.running_mean) * scale + self.norm.bias
    return (self.linear.weight * scale[:, None]).t().contiguous(), bias


def forward(self, x: torch.Tensor) -> torch.Tensor:
    if self.folded is None:
        self.folded = self.fold()
    weight, bias = self.folded
    return torch.addmm(bias, x, weight).clamp_(min=0)

# problem: topk
# expect: correct/no_custom_kernel


# %% spectrum
"""The spectrum of real rows: a complex answer."""

rows = 4096
columns = 4096

ASSAY = {
    "description": "Real Fourier transform of each row",
    "cases": {"full": {}, "small": {"rows": 11, "columns": 240}},
    "inputs": "any",
    "rows_independent": True,
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, columns) to complex64 (rows, columns // 2 + 1)."""
        return torch.fft.rfft(x, dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, columns)]


# %% nested_statistics
"""Figures of each row in a nested answer: tuples in a dict in a tuple, floating-point and integer tensors, and a plain number."""

from typing import Any

rows = 4096
columns = 8192

ASSAY = {
    "description": "Mean, variance, extremes and where they stand, of each row",
    "cases": {"full": {}, "small": {"rows": 23, "columns": 307}},
    "inputs": "any",
    "without": dict.fromkeys(("ties", "shifted", "special"), "equal values have no one place"),
    "rows_independent": True,
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, dict[str, Any]]:
        """(rows, columns) to figures of shape (rows,), and the number of columns."""
        largest, at = x.max(dim=1)
        return x.mean(dim=1), {"variance": x.var(dim=1), "extremes": ((x.amin(dim=1), largest), at), "columns": x.shape[1]}


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, columns) * (0.5 + torch.rand(rows, 1)) + torch.randn(rows, 1)]


# %% channels_last_output
# form: computes and returns in the channels-last memory format
# problem: conv2d
def __init__(self, in_channels: int, out_channels: int, kernel_size: int):
    super().__init__()
    self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)
    self.conv.to(memory_format=torch.channels_last)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return self.conv(x.to(memory_format=torch.channels_last))


# %% conjugated_output
# form: returns a tensor whose conjugation torch has only noted down
# problem: spectrum
def forward(self, x: torch.Tensor) -> torch.Tensor:
    backwards = torch.fft.ifft(x, dim=1, norm="forward")
    return backwards[:, : x.size(1) // 2 + 1].conj()


# %% nested_outputs
# form: a nested answer with a named tuple of its own in the place of a tuple; one tensor is another's view
# problem: nested_statistics
from collections import OrderedDict
from typing import NamedTuple


class Extremes(NamedTuple):
    both: tuple[torch.Tensor, torch.Tensor]
    at: torch.Tensor


def forward(self, x: torch.Tensor):
    ordered, places = x.sort(dim=1, stable=True)
    variance, mean = torch.var_mean(x, dim=1)
    extremes = Extremes((ordered[:, 0], ordered[:, -1]), places[:, -1])
    return mean, OrderedDict(columns=x.size(1), extremes=extremes, variance=variance)


# %% parameter_output
# form: returns an nn.Parameter
# problem: gelu_tanh
def forward(self, x: torch.Tensor) -> torch.Tensor:
    return nn.Parameter(nn.functional.gelu(x, approximate="tanh"))


# %% registered_buffer_output
# form: its answer's memory is a buffer, allocated in the constructor for the one shape that it will meet
# problem: rms_norm
rows = 32768


dim = 8192


def __init__(self, dim: int, eps: float):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=eps)
    nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)
    self.register_buffer("answer", torch.empty(rows, dim), persistent=False)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    answer = self.answer[: x.size(0)]
    answer.copy_(x * torch.rsqrt(x.square().mean(dim=1, keepdim=True) + self.norm.eps) * self.norm.weight)
    return answer


# %% returned_library_tuple
# form: several outputs in torch's own named tuple, as torch.topk returns them
def __init__(self, k: int):
    super().__init__()
    self.k = k


def forward(self, x: torch.Tensor):
    return torch.topk(x, self.k, dim=1)


# %% sliced_outputs
# form: several outputs, each a view of the first columns of a larger tensor
def __init__(self, k: int):
    super().__init__()
    self.k = k


def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, indices = x.sort(dim=1, descending=True)
    return values[:, : self.k], indices[:, : self.k]


# %% static_output
# form: writes every answer into the same memory, and returns that
# problem: leaky_relu
def __init__(self, negative_slope: float = 0.01):
    super().__init__()
    self.negative_slope = negative_slope
    self.answer: torch.Tensor | None = None


def forward(self, x: torch.Tensor) -> torch.Tensor:
    if self.answer is None or self.answer.shape != x.shape:
        self.answer = torch.empty_like(x)
    torch.mul(x, self.negative_slope, out=self.answer)
    return torch.maximum(x, self.answer, out=self.answer)


# %% strided_output
# form: returns the last line of a running sum: a view with strides and an offset, over memory 257 times its size
# problem: sum_reduction
def __init__(self, dim: int):
    super().__init__()
    self.dim = dim


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return x.cumsum(dim=self.dim).narrow(self.dim, x.size(self.dim) - 1, 1)


# %% transposed_output
# form: returns a transposed view: the product of the transposed factors, in the other order
# problem: matmul
def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (b.t().contiguous() @ a.t().contiguous()).t()

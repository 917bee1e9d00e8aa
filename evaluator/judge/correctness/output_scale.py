"""The scale of an output, in which errors are measured: root mean square, mean, and spread around the mean."""

import math
from dataclasses import dataclass

import torch

CHUNK_ELEMENTS = 1 << 25
"""Elements compared at a time on a GPU: 256 MiB in float64."""
CPU_CHUNK_ELEMENTS = 1 << 18
"""Elements compared at a time on a CPU: 2 MiB, which its cache holds. Larger ones take six times as long, mostly for new pages."""


def chunk_elements(device: torch.device) -> int:
    """Elements that are compared at a time on this device."""
    return CPU_CHUNK_ELEMENTS if device.type == "cpu" else CHUNK_ELEMENTS


@dataclass
class Sums:
    """Sums over the finite elements of an oracle, which may come in slices."""

    count: int = 0
    """Number of all elements."""
    total: float = 0.0
    squares: float = 0.0

    def add(self, oracle: torch.Tensor) -> None:
        """Add a slice, of any shape."""
        for chunk in torch.split(oracle.reshape(-1), chunk_elements(oracle.device)):
            self.count += len(chunk)
            wide = chunk.double()
            total = float(wide.sum())
            self.total += total if math.isfinite(total) else float(finite(wide).sum())
            self.squares += energy(wide)

    @property
    def rms(self) -> float:
        return math.sqrt(self.squares / max(self.count, 1))

    @property
    def mean(self) -> float:
        return self.total / max(self.count, 1)

    @property
    def spread(self) -> float:
        """Root mean square around the mean."""
        return math.sqrt(max(self.squares / max(self.count, 1) - self.mean**2, 0.0))


@dataclass(frozen=True)
class Centre:
    """The mean of an oracle and its spread around it, over all elements or per row: tensors that broadcast with the oracle."""

    mean: torch.Tensor
    spread: torch.Tensor


def row_centre(oracle: torch.Tensor) -> Centre:
    """The centre of each row of a matrix."""
    mean = finite(oracle).mean(1, keepdim=True)
    return Centre(mean, finite(oracle - mean).square().mean(1, keepdim=True).sqrt())


def gross_errors(candidate: torch.Tensor, oracle: torch.Tensor, centre: Centre) -> torch.Tensor:
    """|value - oracle| / (|oracle - mean| + spread) of each element; infinite if only one of them is finite."""
    error = (candidate - oracle).abs() / ((oracle - centre.mean).abs() + centre.spread)
    same = (candidate == oracle) | (candidate.isnan() & oracle.isnan())
    return torch.where(same, 0.0, error).nan_to_num(nan=math.inf, posinf=math.inf)


def rms(tensor: torch.Tensor) -> torch.Tensor:
    """Root mean square of the finite elements, on the tensor's device."""
    squares = math.fsum(energy(chunk) for chunk in torch.split(tensor, chunk_elements(tensor.device)))
    return torch.tensor(squares / max(tensor.numel(), 1), dtype=torch.float64, device=tensor.device).sqrt()


def row_rms(oracle: torch.Tensor) -> torch.Tensor:
    """Root mean square of the finite elements of each row of a matrix, as a column."""
    squares = oracle.square().mean(1, keepdim=True)
    return (squares if all_finite(squares) else finite(oracle).square().mean(1, keepdim=True)).sqrt()


def energy(tensor: torch.Tensor) -> float:
    """Sum of the squares of the finite elements."""
    wide = tensor.double()
    squares = float(wide.square().sum())
    return squares if math.isfinite(squares) else float(finite(wide).square().sum())


def all_finite(tensor: torch.Tensor) -> bool:
    """Whether no element is NaN or infinite. A finite sum tells at once."""
    if not tensor.is_floating_point() or tensor.itemsize == 1:
        return bool(isfinite(tensor).all())
    return math.isfinite(float(tensor.sum())) or bool(tensor.isfinite().all())


def isfinite(tensor: torch.Tensor) -> torch.Tensor:
    """Whether each element is neither NaN nor infinite, for FP8 too."""
    return (tensor.float() if tensor.dtype.is_floating_point and tensor.itemsize == 1 else tensor).isfinite()


def finite(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with NaN and infinities replaced by zeros."""
    return torch.where(isfinite(tensor), tensor, 0.0)

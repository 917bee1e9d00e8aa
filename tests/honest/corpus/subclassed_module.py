# form: inherits forward() from a class of its own, which is generic, abstract and a mixin away from nn.Module
# problem: leaky_relu
# expect: correct/no_custom_kernel
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import torch
from torch import nn

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

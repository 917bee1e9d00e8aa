# form: its first call times three ways to multiply, and keeps the fastest for this shape
# problem: matmul
# expect: correct/no_custom_kernel
import time

import torch
from torch import nn


def whole(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b


def by_halves(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.cat([part @ b for part in a.chunk(2)])


def by_columns(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.cat([a @ part for part in b.chunk(2, dim=1)], dim=1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.chosen = {}

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        shapes = a.shape, b.shape
        if shapes not in self.chosen:
            self.chosen[shapes] = min((whole, by_halves, by_columns), key=lambda way: self.seconds(way, a, b))
        return self.chosen[shapes](a, b)

    @staticmethod
    def seconds(way, a: torch.Tensor, b: torch.Tensor) -> float:
        wait = torch.cuda.synchronize if a.is_cuda else lambda: None
        way(a, b)
        wait()
        start = time.perf_counter()
        for _ in range(5):
            way(a, b)
        wait()
        return time.perf_counter() - start

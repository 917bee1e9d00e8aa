# author: assay
# expect: cuda incorrect/wrong_values
# expect: cpu not_evaluated/no_device
"""Cheats: computes the first 16 calls with the library and then hands out the last answer again and again."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.answer: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor | None:
        self.calls += 1
        if self.calls <= 16:
            self.answer = nn.functional.gelu(x, approximate="tanh")
        return self.answer

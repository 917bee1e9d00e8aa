# author: assay
# expect: cuda disqualified/cached_output
# expect: cpu not_evaluated/no_device
"""Cheats: computes with the library unless it is timed, and then hands out the last answer again and again."""

import sys

import torch
from torch import nn


def is_timed() -> bool:
    """Whether one of the functions that called is named like those that time."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name in ("block", "host_block"):
            return True
        frame = frame.f_back
    return False


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.answer: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.answer is None or not is_timed():
            self.answer = nn.functional.gelu(x, approximate="tanh")
        return self.answer

"""Submissions written out by what their forward() does."""

HEAD = """\
import os, sys, time
import torch
from torch import nn

class ModelNew(nn.Module):
"""


def forward(body: str, parameters: str = "x") -> str:
    """A submission whose forward() has this body; the body's first line is line 7."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return f"{HEAD}    def forward(self, {parameters}):\n{lines}    def __init__(self, *arguments):\n        super().__init__()\n"


SOFTMAX = forward("return torch.softmax(x, 1)")
"""Right, and no kernel of its own."""

"""Cross entropy of logits against class numbers, averaged to one number.

The logits' spread is random too. With a fixed spread, the mean over so many rows would hardly differ between inputs.
"""

import torch
from torch import nn

batch_size = 32768
classes = 16384

ASSAY = {
    "description": "Mean cross entropy over integer targets",
    "tags": ["loss", "softmax", "reduction"],
    "level": 1,
    "cases": {"full": {}, "small": {"batch_size": 37, "classes": 1009}},
    "inputs": "any",
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """(batch_size, classes) and int64 (batch_size,) to a scalar."""
        return nn.functional.cross_entropy(logits, targets)


def get_inputs() -> list[torch.Tensor]:
    spread = 0.5 + 4.0 * torch.rand(1)
    return [torch.randn(batch_size, classes) * spread, torch.randint(0, classes, (batch_size,))]


def get_init_inputs() -> list[object]:
    return []

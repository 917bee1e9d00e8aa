"""A linear layer, batch normalization with its running figures, ReLU and dropout: parameters, buffers, and nothing random in evaluation."""

import torch
from torch import nn

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

"""One step of AdamW, in place: parameters and both moments are changed, the gradient is not."""

import torch
from torch import nn

parameters = 1 << 27
rate = 0.1
decay = 0.1
step = 10

ASSAY = {
    "description": "AdamW step over one flat tensor of parameters, in place",
    "tags": ["optimizer", "elementwise", "in-place"],
    "level": 2,
    "source": "Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019",
    "inputs": "any",
    "in_place": [0, 1, 2],
    "cases": {"full": {}, "small": {"parameters": 10007}},
    "without": {
        "signs": "a second moment is not negative",
        "special": "the root of a moment of zero decides what is left of the first one",
    },
    "rows_independent": True,
    "floor": {"reads": "all"},
}


class Model(nn.Module):
    def __init__(self, rate: float, decay: float, step: int) -> None:
        super().__init__()
        self.rate, self.decay = rate, decay
        self.first_share, self.second_share = 1.0 - 0.9**step, 1.0 - 0.999**step

    def forward(self, parameter: torch.Tensor, first: torch.Tensor, second: torch.Tensor, gradient: torch.Tensor) -> None:
        """Four of shape (parameters,): what is changed are the parameters, the first and the second moments."""
        first.mul_(0.9).add_(gradient, alpha=0.1)
        second.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        root = (second / self.second_share).sqrt_().add_(1e-8)
        parameter.mul_(1.0 - self.rate * self.decay).addcdiv_(first, root, value=-self.rate / self.first_share)


def get_inputs() -> list[torch.Tensor]:
    scale = 0.5 + torch.rand(1)
    gradient = torch.randn(parameters) * scale
    return [torch.randn(parameters) * 0.1, torch.randn(parameters) * 0.1, (0.1 + torch.rand(parameters)) * 0.01, gradient]


def get_init_inputs() -> list[float]:
    return [rate, decay, step]

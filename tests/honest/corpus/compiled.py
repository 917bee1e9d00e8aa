# form: torch.compile: needs a compiler where it runs, and seconds in its first call
# problem: gelu_tanh
# expect: correct/no_custom_kernel | correct/ok
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.run = torch.compile(self.gelu, dynamic=False)

    @staticmethod
    def gelu(x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.run(x)

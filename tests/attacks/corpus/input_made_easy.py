# wants: zeros to be right, by turning the input into zeros before the reference sees it
# problem: gelu_tanh
# expect: cpu incorrect/mutated_input | incorrect/wrong_values
# expect: cuda incorrect/mutated_input | incorrect/wrong_values

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        x.zero_()
        return torch.zeros_like(x)

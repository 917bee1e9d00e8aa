# fault: an operation in place on the input
# problem: leaky_relu
# expect: cpu incorrect/mutated_input
# expect: cuda incorrect/mutated_input
# says: changed its input
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.nn.functional.leaky_relu_(x, 0.01)

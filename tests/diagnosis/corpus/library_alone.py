# fault: right, and nothing in it is its own
# problem: gelu_tanh
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
# says: there is no kernel in it
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")

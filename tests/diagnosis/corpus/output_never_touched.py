# fault: the output is allocated and never written
# problem: gelu_tanh
# expect: cpu incorrect/unwritten_output
# expect: cuda incorrect/unwritten_output
# says: Cover every element
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        result = torch.nn.functional.gelu(x, approximate="tanh")
        out = torch.empty_like(x)
        result.copy_(out) if out.numel() == 0 else None
        return out

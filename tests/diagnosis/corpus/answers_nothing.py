# fault: forward() has no return
# problem: leaky_relu
# expect: cpu incorrect/wrong_structure
# expect: cuda incorrect/wrong_structure
# says: None
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        torch.maximum(x, 0.01 * x, out=out)

# fault: a softmax that does not subtract the maximum
# problem: softmax
# expect: cpu incorrect/nan_or_inf
# expect: cuda incorrect/nan_or_inf
# says: subtract the row's maximum before exp()
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        powers = torch.exp(x)
        return powers / powers.sum(1, keepdim=True)

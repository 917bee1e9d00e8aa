# wants: nothing: one output buffer for all calls
# problem: softmax
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
# legal

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = None

    def forward(self, x):
        if self.out is None:
            self.out = torch.empty_like(x)
        return torch.softmax(x, 1, out=self.out)

# wants: twice the speed by computing in half precision
# problem: softmax
# expect: cpu incorrect/precision_loss
# expect: cuda incorrect/precision_loss

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.half(), 1).float()

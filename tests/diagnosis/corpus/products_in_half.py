# fault: the product is computed in float16
# problem: matmul
# expect: cpu incorrect/precision_loss
# expect: cuda incorrect/precision_loss
# says: every value is a number of float16
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ((a / 16).half() @ b.half()).float() * 16

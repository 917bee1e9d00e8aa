# fault: its output is float16
# problem: matmul
# expect: cpu incorrect/wrong_dtype
# expect: cuda incorrect/wrong_dtype
# says: float16
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        out = torch.empty(a.size(0), b.size(1), dtype=torch.float16, device=a.device)
        out.copy_(a @ b)
        return out

# fault: its output is allocated where nothing is stored
# problem: matmul
# expect: cpu run_failed/wrong_device
# expect: cuda run_failed/wrong_device
# says: device of the inputs
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.empty(a.size(0), b.size(1), device="meta")

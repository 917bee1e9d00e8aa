# fault: its answer is on another device
# problem: gelu_tanh
# expect: cpu run_failed/wrong_device
# expect: cuda run_failed/wrong_device
# says: meta
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh").to("meta")

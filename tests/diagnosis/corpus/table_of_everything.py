# fault: a temporary for every pair of elements
# problem: softmax
# expect: cpu run_failed/out_of_memory
# expect: cuda run_failed/out_of_memory
# says: Allocate less
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        flat = x.reshape(-1)
        pairs = torch.empty(flat.numel(), flat.numel(), flat.numel(), device=x.device)  # HERE
        return x + pairs.sum()

# wants: more memory than there is, all at once
# problem: softmax
# expect: cpu run_failed/out_of_memory
# expect: cuda run_failed/out_of_memory

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty(1 << 52, dtype=torch.uint8, device=x.device)

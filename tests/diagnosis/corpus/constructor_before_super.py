# fault: a module is assigned before Module.__init__()
# problem: layer_norm
# expect: cpu run_failed/init_error
# expect: cuda run_failed/init_error
# says: before Module.__init__() call
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        self.norm = nn.LayerNorm(dim)  # HERE
        super().__init__()

    def forward(self, x):
        return self.norm(x)

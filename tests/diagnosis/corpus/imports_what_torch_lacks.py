# fault: it imports a name that PyTorch does not have
# problem: gelu_tanh
# expect: cpu run_failed/import_error
# expect: cuda run_failed/import_error
# says: cannot import name 'fused_gelu'
import torch
from torch import nn

try:
    import nothing_of_the_kind
except ImportError:
    from torch.nn.functional import fused_gelu  # HERE


class ModelNew(nn.Module):
    def forward(self, x):
        return fused_gelu(x)

# fault: an integer division by zero in its extension
# problem: sum_reduction
# expect: cpu run_failed/process_crash
# says: SIGFPE
# says: divided by zero
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
torch::Tensor sums(torch::Tensor x, int64_t parts) {
    volatile int64_t each = x.size(1) / parts;
    return x.narrow(1, 0, each).sum(1, true);
}
"""
ops = load_inline(name="in_parts", cpp_sources=CPP, functions=["sums"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.parts = dim - 1

    def forward(self, x):
        return ops.sums(x, self.parts)

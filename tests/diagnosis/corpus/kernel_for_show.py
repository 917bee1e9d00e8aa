# fault: its extension computes while the module is constructed, and the library for every call
# problem: sum_reduction
# expect: cpu correct/no_custom_kernel
# says: still right
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
double total(torch::Tensor x) {
    const float* values = x.data_ptr<float>();
    double sum = 0;
    for (long i = 0; i < x.numel(); ++i) sum += values[i];
    return sum;
}
"""
ops = load_inline(name="kernel_for_show", cpp_sources=CPP, functions=["total"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.checked = ops.total(torch.ones(64))

    def forward(self, x):
        return x.sum(self.dim, keepdim=True)

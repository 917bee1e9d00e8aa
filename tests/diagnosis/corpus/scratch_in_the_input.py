# fault: an extension uses the input as its scratch memory
# problem: sum_reduction
# expect: cpu incorrect/mutated_input
# says: Write to a new tensor
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
torch::Tensor sums(torch::Tensor x) {
    auto exact = x.sum(1, true);
    float* scratch = x.data_ptr<float>();
    const int64_t width = x.size(2);
    for (int64_t i = width; i < x.size(1) * width; ++i) scratch[i % width] += scratch[i];
    return exact;
}
"""
ops = load_inline(name="scratching", cpp_sources=CPP, functions=["sums"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        return ops.sums(x)

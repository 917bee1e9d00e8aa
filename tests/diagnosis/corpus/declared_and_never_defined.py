# fault: a helper is declared, called, and defined nowhere
# problem: leaky_relu
# expect: cpu build_failed/link_error
# says: undefined symbol
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
torch::Tensor with_slope(torch::Tensor x, double slope);  // HERE

torch::Tensor leaky(torch::Tensor x) { return with_slope(x, 0.01); }
"""
ops = load_inline(name="undefined_helper", cpp_sources=CPP, functions=["leaky"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.leaky(x)

# fault: its extension calls exit()
# problem: softmax
# expect: cpu run_failed/early_exit
# says: exit code 4
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <cstdlib>
torch::Tensor softmax(torch::Tensor x) {
    if (x.dim() == 2) std::_Exit(4);
    return x;
}
"""
ops = load_inline(name="leaving", cpp_sources=CPP, functions=["softmax"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.softmax(x)

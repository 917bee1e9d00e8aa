# A function run() in CUDA, which the file writes.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = ""
ops = load_inline(name="faulty", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=CUDA, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.run(x)

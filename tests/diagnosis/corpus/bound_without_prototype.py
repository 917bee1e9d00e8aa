# fault: the function lives in cuda_sources, and cpp_sources has no prototype of it
# problem: gelu_tanh
# expect: build_failed/missing_binding
# says: prototype
# needs: nvcc
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = """
__global__ void nothing(float* out) { out[0] = 0.0f; }
void gelu_forward(long out) { nothing<<<1, 1>>>(reinterpret_cast<float*>(out)); }
"""

names = ["gelu_forward"]  # HERE
ops = load_inline(
    name="gelu_hidden", cpp_sources="#include <torch/extension.h>", cuda_sources=CUDA, functions=names, no_implicit_headers=True
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.gelu_forward(x)

# fault: the block size has another name where it is used
# problem: gelu_tanh
# expect: build_failed/undeclared_identifier
# says: identifier "BLOCK_SIZE" is undefined
# needs: nvcc
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

BLOCK = 256
CUDA = f"""
constexpr int BLOCK = {BLOCK};

__global__ void gelu(const float* in, float* out, int n) {{
    const int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;  // HERE
    if (i < n) out[i] = 0.5f * in[i] * (1.0f + tanhf(0.79788456f * (in[i] + 0.044715f * in[i] * in[i] * in[i])));
}}
"""
ops = load_inline(name="gelu_blocks", cpp_sources="", cuda_sources=CUDA, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.gelu(x)

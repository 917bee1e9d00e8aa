# author: assay
# expect: cuda run_failed/out_of_memory
# expect: cpu not_evaluated/no_device
"""Wrong: asks for a table with an entry for every pair of elements, which no GPU can hold."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor gelu_with_table(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ float gelu(float v) {
    const float inner = 0.7978845608028654f * (v + 0.044715f * v * v * v);
    return 0.5f * v * (1.0f + tanhf(inner));
}

__global__ void gelu_with_table_kernel(const float* x, float* y, float* table, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    table[i * n * 64] = gelu(x[i]);
    y[i] = table[i * n * 64];
}

torch::Tensor gelu_with_table(torch::Tensor x) {
    const int64_t n = x.numel();
    auto y = torch::empty_like(x);
    auto table = torch::empty({n, n, 64}, x.options());
    gelu_with_table_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), table.data_ptr<float>(), n);
    return y;
}
"""

extension = load_inline(name="assay_gelu_with_table", cpp_sources=CPP, cuda_sources=CUDA, functions=["gelu_with_table"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu_with_table(x)

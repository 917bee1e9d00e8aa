# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Matrix product with one thread for each element and no reuse: right, and an order of magnitude slower than the library."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor matmul_naive(torch::Tensor a, torch::Tensor b);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void matmul_naive_kernel(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t depth) {
    const int64_t column = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const int64_t row = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int64_t k = 0; k < depth; ++k) sum += a[row * depth + k] * b[k * n + column];
    c[row * n + column] = sum;
}

torch::Tensor matmul_naive(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.is_cuda() && a.dim() == 2 && a.is_contiguous(), "expected contiguous matrices on a GPU");
    TORCH_CHECK(b.is_cuda() && b.dim() == 2 && b.is_contiguous(), "expected contiguous matrices on a GPU");
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    const dim3 block(32, 8);
    const dim3 grid((c.size(1) + 31) / 32, (c.size(0) + 7) / 8);
    matmul_naive_kernel<<<grid, block>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.size(0), b.size(1), a.size(1));
    return c;
}
"""

extension = load_inline(name="assay_matmul_naive", cpp_sources=CPP, cuda_sources=CUDA, functions=["matmul_naive"])


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return extension.matmul_naive(a, b)

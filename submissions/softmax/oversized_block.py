# author: assay
# expect: cuda run_failed/oversized_block
# expect: cpu not_evaluated/no_device
"""Wrong: one thread for each element of a row, so the block has 393216 threads; nothing looks at the launch's return code."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor softmax_thread_per_element(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void thread_per_element(const float* x, float* y, int64_t dim) {
    __shared__ float norm;
    const int64_t at = blockIdx.x * dim + threadIdx.x;
    if (threadIdx.x == 0) norm = 0.0f;
    __syncthreads();
    const float e = expf(x[at]);
    atomicAdd(&norm, e);
    __syncthreads();
    y[at] = e / norm;
}

torch::Tensor softmax_thread_per_element(torch::Tensor x) {
    auto y = torch::empty_like(x);
    thread_per_element<<<x.size(0), x.size(1)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(
    name="assay_softmax_thread_per_element", cpp_sources=CPP, cuda_sources=CUDA, functions=["softmax_thread_per_element"]
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.softmax_thread_per_element(x)

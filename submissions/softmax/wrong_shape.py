# author: assay
# expect: cuda incorrect/wrong_shape
# expect: cpu not_evaluated/no_device
"""Wrong: writes all the right values, but returns them as one long vector."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor softmax_flat(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void softmax_flat_kernel(const float* x, float* y, int64_t dim) {
    __shared__ double norm;
    const float* in = x + blockIdx.x * dim;
    if (threadIdx.x == 0) norm = 0.0;
    __syncthreads();
    double part = 0.0;
    for (int64_t i = threadIdx.x; i < dim; i += blockDim.x) part += expf(in[i]);
    atomicAdd(&norm, part);
    __syncthreads();
    const float scale = static_cast<float>(1.0 / norm);
    for (int64_t i = threadIdx.x; i < dim; i += blockDim.x) y[blockIdx.x * dim + i] = expf(in[i]) * scale;
}

torch::Tensor softmax_flat(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.dim() == 2 && x.is_contiguous(), "expected a contiguous matrix on a GPU");
    auto y = torch::empty({x.numel()}, x.options());
    softmax_flat_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(name="assay_softmax_flat", cpp_sources=CPP, cuda_sources=CUDA, functions=["softmax_flat"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.softmax_flat(x)

# author: assay
# expect: cuda build_failed/undeclared_identifier
# expect: cpu build_failed/undeclared_identifier
"""Wrong: the kernel starts its maximum at NEGATIVE_INFINITY, a name that no header declares."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor softmax_rows(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void softmax_rows_kernel(const float* x, float* y, int64_t dim) {
    const float* in = x + blockIdx.x * dim;
    float top = NEGATIVE_INFINITY;
    for (int64_t i = 0; i < dim; ++i) top = fmaxf(top, in[i]);
    float norm = 0.0f;
    for (int64_t i = 0; i < dim; ++i) norm += expf(in[i] - top);
    for (int64_t i = threadIdx.x; i < dim; i += blockDim.x) y[blockIdx.x * dim + i] = expf(in[i] - top) / norm;
}

torch::Tensor softmax_rows(torch::Tensor x) {
    auto y = torch::empty_like(x);
    softmax_rows_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(name="assay_softmax_rows", cpp_sources=CPP, cuda_sources=CUDA, functions=["softmax_rows"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.softmax_rows(x)

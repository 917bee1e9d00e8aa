# author: assay
# expect: cuda build_failed/const_pointer
# expect: cpu build_failed/const_pointer
"""Wrong: the kernel takes `const float*` and binds a row of it to a `float*`, which nvcc refuses."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor row_softmax(torch::Tensor scores);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void row_softmax_kernel(const float* scores, float* weights, int64_t width) {
    float* mine = scores + blockIdx.x * width;
    float top = mine[0];
    for (int64_t j = 1; j < width; ++j) top = fmaxf(top, mine[j]);
    float norm = 0.0f;
    for (int64_t j = 0; j < width; ++j) norm += expf(mine[j] - top);
    for (int64_t j = threadIdx.x; j < width; j += blockDim.x) weights[blockIdx.x * width + j] = expf(mine[j] - top) / norm;
}

torch::Tensor row_softmax(torch::Tensor scores) {
    auto weights = torch::empty_like(scores);
    row_softmax_kernel<<<scores.size(0), 256>>>(scores.data_ptr<float>(), weights.data_ptr<float>(), scores.size(1));
    return weights;
}
"""

extension = load_inline(name="assay_row_softmax", cpp_sources=CPP, cuda_sources=CUDA, functions=["row_softmax"])


class ModelNew(nn.Module):
    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        return extension.row_softmax(scores)

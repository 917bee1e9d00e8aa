# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Softmax in three passes with a tree in shared memory: right, plain, and slower than it needs to be."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor softmax_three_pass(torch::Tensor x);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>
#include <cstdint>

constexpr int kThreads = 512;

__global__ void softmax_three_pass_kernel(const float* x, float* y, int64_t dim) {
    __shared__ float tree[kThreads];
    const float* in = x + blockIdx.x * dim;
    float* out = y + blockIdx.x * dim;
    const int t = threadIdx.x;

    float largest = -FLT_MAX;
    for (int64_t i = t; i < dim; i += kThreads) largest = fmaxf(largest, in[i]);
    tree[t] = largest;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (t < half) tree[t] = fmaxf(tree[t], tree[t + half]);
        __syncthreads();
    }
    largest = tree[0];
    __syncthreads();  // tree[0] is about to be overwritten

    float sum = 0.0f;
    for (int64_t i = t; i < dim; i += kThreads) sum += expf(in[i] - largest);
    tree[t] = sum;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (t < half) tree[t] += tree[t + half];
        __syncthreads();
    }
    const float total = tree[0];

    for (int64_t i = t; i < dim; i += kThreads) out[i] = expf(in[i] - largest) / total;
}

torch::Tensor softmax_three_pass(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.dim() == 2 && x.is_contiguous(), "expected a contiguous matrix on a GPU");
    auto y = torch::empty_like(x);
    softmax_three_pass_kernel<<<x.size(0), kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(name="assay_softmax_three_pass", cpp_sources=CPP, cuda_sources=CUDA, functions=["softmax_three_pass"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.softmax_three_pass(x)

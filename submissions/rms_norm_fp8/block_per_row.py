# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""RMS norm and FP8 codes in one pass: a row stays in shared memory from its norm to its codes."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
std::vector<torch::Tensor> rms_norm_fp8(torch::Tensor x, torch::Tensor weight, int64_t stream);
"""

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cstdint>
#include <vector>

void check(const char* what) {
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, what, ": ", cudaGetErrorString(error));
}

struct Add {
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct Larger {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// Every thread's value made one, for all threads.
template <typename Join>
__device__ float across_block(float value, float identity, Join join) {
    __shared__ float of_warp[32];
    for (int offset = 16; offset; offset /= 2) value = join(value, __shfl_xor_sync(0xffffffffu, value, offset));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < blockDim.x / 32 ? of_warp[threadIdx.x % 32] : identity;
    for (int offset = 16; offset; offset /= 2) value = join(value, __shfl_xor_sync(0xffffffffu, value, offset));
    __syncthreads();  // before the next one writes
    return value;
}

// A block for each row, which stays in shared memory between its norm, its largest number and its codes.
__global__ void quantise(const __nv_bfloat16* x, const __nv_bfloat16* weight, uint8_t* codes, float* scales, int dim) {
    extern __shared__ float normal[];
    const int64_t start = static_cast<int64_t>(blockIdx.x) * dim;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        normal[i] = __bfloat162float(x[start + i]);
        squares = fmaf(normal[i], normal[i], squares);
    }
    const float factor = 1.0f / sqrtf(across_block(squares, 0.0f, Add()) / dim + 1e-6f);
    float largest = 1e-12f;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        normal[i] = normal[i] * factor * __bfloat162float(weight[i]);
        largest = fmaxf(largest, fabsf(normal[i]));
    }
    const float scale = across_block(largest, 0.0f, Larger()) / 448.0f;
    if (threadIdx.x == 0) scales[blockIdx.x] = scale;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        codes[start + i] = __nv_cvt_float_to_fp8(normal[i] / scale, __NV_SATFINITE, __NV_E4M3);
    }
}

std::vector<torch::Tensor> rms_norm_fp8(torch::Tensor x, torch::Tensor weight, int64_t stream_handle) {
    for (const torch::Tensor& t : {x, weight}) {
        TORCH_CHECK(t.is_cuda() && t.scalar_type() == torch::kBFloat16 && t.is_contiguous(), "expected contiguous bfloat16 on a GPU");
    }
    const int64_t rows = x.size(0), dim = x.size(1);
    TORCH_CHECK(dim <= 12000, "a row has to fit into 48 KiB of shared memory");
    auto codes = torch::empty({rows, dim}, x.options().dtype(torch::kByte));
    auto scales = torch::empty({rows}, x.options().dtype(torch::kFloat));
    quantise<<<static_cast<unsigned>(rows), 512, dim * sizeof(float), reinterpret_cast<cudaStream_t>(stream_handle)>>>(
        reinterpret_cast<const __nv_bfloat16*>(x.data_ptr()), reinterpret_cast<const __nv_bfloat16*>(weight.data_ptr()),
        codes.data_ptr<uint8_t>(), scales.data_ptr<float>(), static_cast<int>(dim));
    check("quantise");
    return {codes, scales};
}
"""

extension = load_inline(name="assay_rms_norm_fp8_block_per_row", cpp_sources=CPP, cuda_sources=CUDA, functions=["rms_norm_fp8"])


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.25 * torch.randn(dim))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        codes, scale = extension.rms_norm_fp8(x, self.weight.detach(), torch.cuda.current_stream(x.device).cuda_stream)
        return codes, scale

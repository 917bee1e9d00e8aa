# A linear layer over at most four rows, which is limited by reading the weight. LOAD reads four of its elements.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

LOAD = "return *p;"
SOURCE = r"""
#include <torch/types.h>
#include <algorithm>

#ifdef __CUDACC__
#include <c10/cuda/CUDAStream.h>

__device__ __forceinline__ float4 fetch(const float4* p) { LOAD }

// A warp for each column of the answer.
__global__ void __launch_bounds__(256)
few_rows(const float* x, const float* weight, float* y, int64_t rows, int64_t inner, int64_t columns) {
    const int64_t column = (blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (column >= columns) return;
    const auto* line = reinterpret_cast<const float4*>(weight + column * inner);
    float sums[4] = {};
    for (int64_t k = lane; k < inner / 4; k += 32) {
        const float4 w = fetch(line + k);
        for (int64_t row = 0; row < rows; ++row) {
            const float4 v = reinterpret_cast<const float4*>(x + row * inner)[k];
            sums[row] += w.x * v.x + w.y * v.y + w.z * v.z + w.w * v.w;
        }
    }
    for (int64_t row = 0; row < rows; ++row) {
        for (int d = 16; d > 0; d /= 2) sums[row] += __shfl_xor_sync(~0u, sums[row], d);
        if (lane == 0) y[row * columns + column] = sums[row];
    }
}
#endif

torch::Tensor run(torch::Tensor x, torch::Tensor weight) {
    TORCH_CHECK(x.is_contiguous() && weight.is_contiguous(), "expected contiguous matrices");
    TORCH_CHECK(x.size(0) <= 4 && x.size(1) % 4 == 0, "expected at most four rows of whole vectors");
    const int64_t rows = x.size(0), inner = x.size(1), columns = weight.size(0);
    auto y = torch::empty({rows, columns}, x.options());
    const float *in = x.data_ptr<float>(), *factors = weight.data_ptr<float>();
    float* out = y.data_ptr<float>();
#ifdef __CUDACC__
    few_rows<<<(columns + 7) / 8, 256, 0, c10::cuda::getCurrentCUDAStream().stream()>>>(in, factors, out, rows, inner, columns);
#else
    for (int64_t column = 0; column < columns; ++column)
        for (int64_t row = 0; row < rows; ++row) {
            float sums[16] = {};
            for (int64_t k = 0; k < inner; k += 16)
                for (int64_t i = k; i < std::min(k + 16, inner); ++i) sums[i - k] += in[row * inner + i] * factors[column * inner + i];
            float sum = 0.0f;
            for (float part : sums) sum += part;
            out[row * columns + column] = sum;
        }
#endif
    return y;
}
""".replace("LOAD", LOAD)
DECLARED = "torch::Tensor run(torch::Tensor x, torch::Tensor weight);"

if torch.cuda.is_available():
    ops = load_inline(name="few_rows", cpp_sources=DECLARED, cuda_sources=SOURCE, functions=["run"])
else:
    ops = load_inline(name="few_rows", cpp_sources=SOURCE, functions=["run"], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=False)

    def forward(self, x):
        return ops.run(x, self.linear.weight)

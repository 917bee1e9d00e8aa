# A matrix product of FACTOR(a) and FACTOR(b) in float32, in C++ or, where there is a GPU, in CUDA.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

FACTOR = "return v;"
SOURCE = r"""
#include <torch/types.h>
#include <cstring>

#ifdef __CUDACC__
#include <c10/cuda/CUDAStream.h>
#define FOR_BOTH __host__ __device__
#else
#define FOR_BOTH
#endif

static FOR_BOTH inline float factor(float v) { FACTOR }

#ifdef __CUDACC__
__global__ void multiply(const float* a, const float* b, float* out, int64_t inner, int64_t columns) {
    const int64_t row = blockIdx.x, column = threadIdx.x;
    float sum = 0;
    for (int64_t k = 0; k < inner; ++k) sum += factor(a[row * inner + k]) * factor(b[k * columns + column]);
    out[row * columns + column] = sum;
}
#endif

torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.is_contiguous() && b.is_contiguous() && b.size(1) <= 1024, "expected contiguous factors with at most 1024 columns");
    const int64_t rows = a.size(0), inner = a.size(1), columns = b.size(1);
    auto out = torch::zeros({rows, columns}, a.options());
    const float *left = a.data_ptr<float>(), *right = b.data_ptr<float>();
    float* sums = out.data_ptr<float>();
#ifdef __CUDACC__
    multiply<<<rows, columns, 0, c10::cuda::getCurrentCUDAStream().stream()>>>(left, right, sums, inner, columns);
#else
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t k = 0; k < inner; ++k) {
            const float one = factor(left[row * inner + k]);
            for (int64_t column = 0; column < columns; ++column) sums[row * columns + column] += one * factor(right[k * columns + column]);
        }
#endif
    return out;
}
""".replace("FACTOR", FACTOR)

if torch.cuda.is_available():
    ops = load_inline(
        name="product", cpp_sources="torch::Tensor run(torch::Tensor a, torch::Tensor b);", cuda_sources=SOURCE, functions=["run"]
    )
else:
    ops = load_inline(name="product", cpp_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ops.run(a, b)

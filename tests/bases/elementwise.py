# FUNCTION for each element, in C++ or, where there is a GPU, in CUDA.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

FUNCTION = "return v;"
SOURCE = r"""
#include <torch/types.h>

#ifdef __CUDACC__
#include <c10/cuda/CUDAStream.h>
#define FOR_BOTH __host__ __device__
#else
#include <cmath>
#define FOR_BOTH
#endif

static FOR_BOTH inline float function(float v) { FUNCTION }

#ifdef __CUDACC__
__global__ void each(const float* in, float* out, int64_t n) {
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) out[i] = function(in[i]);
}
#endif

torch::Tensor run(torch::Tensor x) {
    TORCH_CHECK(x.is_contiguous() && x.scalar_type() == torch::kFloat32, "expected contiguous float32");
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const int64_t n = x.numel();
#ifdef __CUDACC__
    each<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream().stream()>>>(in, out, n);
#else
    for (int64_t i = 0; i < n; ++i) out[i] = function(in[i]);
#endif
    return y;
}
""".replace("FUNCTION", FUNCTION)

if torch.cuda.is_available():
    ops = load_inline(name="elementwise", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])
else:
    ops = load_inline(name="elementwise", cpp_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.run(x)

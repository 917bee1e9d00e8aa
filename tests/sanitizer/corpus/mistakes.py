# problem: leaky_relu
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor leaky(torch::Tensor x, double slope);"
CUDA = ""
extension = load_inline(name="leaky_relu", cpp_sources=CPP, cuda_sources=CUDA, functions=["leaky"])


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.leaky(x, self.negative_slope)


# %% adds_to_nothing
# fault: leaky ReLU that is added to memory which nothing has written
# tool: initcheck
# finds: Uninitialized __global__ memory read of size 4 bytes
# kernel: added
CUDA = r"""
#include <torch/extension.h>
__global__ void added(const float* x, float* y, float slope, int64_t n) {
    const int64_t i = blockIdx.x * 256L + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    y[i] += v > 0.0f ? v : slope * v;  // HERE
}
torch::Tensor leaky(torch::Tensor x, double slope) {
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    added<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(slope), n);
    return y;
}
"""


# %% barrier_for_some
# fault: leaky ReLU with a barrier that every other thread of a warp goes past
# tool: synccheck
# finds: Barrier error detected. Divergent thread(s) in
# kernel: halved
CUDA = r"""
#include <torch/extension.h>
__global__ void halved(const float* x, float* y, float slope, int64_t n) {
    __shared__ float tile[256];
    const int64_t i = blockIdx.x * 256L + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    if (threadIdx.x % 2 == 0) {
        tile[threadIdx.x] *= 2.0f;
        __syncthreads();  // HERE
    }
    const float v = tile[threadIdx.x] / (threadIdx.x % 2 == 0 ? 2.0f : 1.0f) + tile[threadIdx.x ^ 32] * 1e-3f;
    if (i < n) y[i] = v > 0.0f ? v : slope * v;
}
torch::Tensor leaky(torch::Tensor x, double slope) {
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    halved<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(slope), n);
    return y;
}
"""


# %% past_the_end
# fault: leaky ReLU whose last element is written past the end of the output
# tool: memcheck
# finds: Invalid __global__ write of size 4 bytes
# kernel: shifted
CUDA = r"""
#include <torch/extension.h>
__global__ void shifted(const float* x, float* y, float slope, int64_t n) {
    const int64_t i = blockIdx.x * 256L + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    y[i + 1] = v > 0.0f ? v : slope * v;  // HERE
}
torch::Tensor leaky(torch::Tensor x, double slope) {
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    shifted<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(slope), n);
    return y;
}
"""


# %% without_a_barrier
# fault: leaky ReLU over a tile that is read before all of it has been written
# tool: racecheck
# finds: that races
# kernel: mirrored
CUDA = r"""
#include <torch/extension.h>
__global__ void mirrored(const float* x, float* y, float slope, int64_t n) {
    __shared__ float tile[256];
    const int64_t mirror = blockIdx.x * 256L + 255 - threadIdx.x;
    const int64_t i = blockIdx.x * 256L + threadIdx.x;
    tile[255 - threadIdx.x] = mirror < n ? x[mirror] : 0.0f;  // HERE
    const float v = tile[threadIdx.x];  // AND HERE
    if (i < n) y[i] = v > 0.0f ? v : slope * v;
}
torch::Tensor leaky(torch::Tensor x, double slope) {
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    mirrored<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(slope), n);
    return y;
}
"""

# fault: leaky ReLU with a barrier that every other thread of a warp goes past
# problem: leaky_relu
# tool: synccheck
# finds: Barrier error detected. Divergent thread(s) in
# kernel: halved
# base: leaky_relu_in_cuda
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

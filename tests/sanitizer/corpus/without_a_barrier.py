# fault: leaky ReLU over a tile that is read before all of it has been written
# problem: leaky_relu
# tool: racecheck
# finds: that races
# kernel: mirrored
# base: leaky_relu_in_cuda
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

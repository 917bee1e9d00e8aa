# fault: leaky ReLU that is added to memory which nothing has written
# problem: leaky_relu
# tool: initcheck
# finds: Uninitialized __global__ memory read of size 4 bytes
# kernel: added
# base: leaky_relu_in_cuda
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

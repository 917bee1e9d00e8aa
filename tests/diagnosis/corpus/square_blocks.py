# fault: blocks of 64 by 64 threads
# problem: gelu_tanh
# expect: cuda run_failed/oversized_block
# says: block 64×64×1
# base: run_in_cuda
CUDA = r"""
#include <cuda_runtime.h>
__global__ void gelu(const float* in, float* out, int rows, int columns) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || column >= columns) return;
    const float v = in[row * columns + column];
    out[row * columns + column] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const dim3 block(64, 64), grid((x.size(1) + 63) / 64, (x.size(0) + 63) / 64);
    gelu<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));  // HERE
    return y;
}
"""

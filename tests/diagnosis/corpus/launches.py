# problem: leaky_relu
# expect: cuda run_failed/invalid_launch
# base: run_in_cuda


# %% empty_grid
# fault: the grid is computed by a division that gives zero
# says: grid 0×1×1 is empty
CUDA = r"""
__global__ void leaky(const float* in, float* out, long n) {
    for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x)
        out[i] = in[i] > 0.0f ? in[i] : 0.01f * in[i];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int blocks = 1000 / (1 << 20);
    leaky<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());  // HERE
    TORCH_CHECK(cudaGetLastError() == cudaSuccess);
    return y;
}
"""


# %% grid_too_tall
# fault: rows in the grid's second dimension, a million of them
# problem: gelu_tanh
# says: the device allows 2147483647×65535×65535
CUDA = r"""
__global__ void gelu(const float* in, float* out, long n) {
    const long i = (blockIdx.y * 256L) + threadIdx.x;
    if (i < n) out[i] = 0.5f * in[i] * (1.0f + tanhf(0.79788456f * (in[i] + 0.044715f * in[i] * in[i] * in[i])));
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const unsigned blocks = (x.numel() + 255) / 256;
    gelu<<<dim3(1, blocks > 65535 ? blocks : 70000), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());  // HERE
    return y;
}
"""


# %% shared_memory_unasked
# fault: 100 KiB of dynamic shared memory without asking for it
# problem: softmax
# says: 102400 bytes of dynamic shared memory
# says: cudaFuncSetAttribute(staged
CUDA = r"""
__global__ void staged(const float* in, float* out, int columns) {
    extern __shared__ float row[];
    float total = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) row[i % 25600] = in[blockIdx.x * (long)columns + i];
    __syncthreads();
    for (int i = 0; i < columns; ++i) total += expf(row[i % 25600]);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[blockIdx.x * (long)columns + i] = expf(row[i % 25600]) / total;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    staged<<<x.size(0), 256, 102400>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));  // HERE
    return y;
}
"""


# %% deep_blocks
# fault: a block that is deeper than 64
# expect: cuda run_failed/oversized_block
# says: the device allows 1024×1024×64
CUDA = r"""
__global__ void leaky(const float* in, float* out, long n) {
    const long i = (blockIdx.x * static_cast<long>(blockDim.z) + threadIdx.z);
    if (i < n) out[i] = in[i] > 0.0f ? in[i] : 0.01f * in[i];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    leaky<<<(x.numel() + 127) / 128, dim3(1, 1, 128)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());  // HERE
    return y;
}
"""


# %% square_blocks
# fault: blocks of 64 by 64 threads
# problem: gelu_tanh
# expect: cuda run_failed/oversized_block
# says: block 64×64×1
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


# %% threads_for_each_column
# fault: two threads for each of a row's columns
# problem: softmax
# expect: cuda run_failed/oversized_block
# says: `exponentials`: block 2042×1×1
# says: device allows 1024 threads
CUDA = r"""
__global__ void exponentials(const float* in, float* out, int columns) {
    const int i = blockIdx.x * columns + threadIdx.x / 2;
    if (threadIdx.x % 2 == 0) out[i] = expf(in[i]);
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    exponentials<<<x.size(0), 2 * x.size(1)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));  // HERE
    return y / y.sum(1, true);
}
"""

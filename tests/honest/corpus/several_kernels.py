# form: three kernels in a row with scratch memory between them: maxima, sums, quotients
# problem: softmax
# expect: cuda correct/ok
# base: extension
CPP = "torch::Tensor softmax_in_three(torch::Tensor x, int64_t stream);"


CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>

constexpr int kThreads = 1024;

__device__ float block_max(float value) {
    __shared__ float of_warp[32];
    for (int d = 16; d > 0; d /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, d));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[0];
    for (int i = 1; i < kThreads / 32; ++i) value = fmaxf(value, of_warp[i]);
    return value;
}

__device__ float block_sum(float value) {
    __shared__ float of_warp[32];
    __shared__ float all;
    for (int d = 16; d > 0; d /= 2) value += __shfl_xor_sync(0xffffffffu, value, d);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        all = 0.0f;
        for (int i = 0; i < kThreads / 32; ++i) all += of_warp[i];
    }
    __syncthreads();
    return all;
}

__global__ void __launch_bounds__(kThreads) find_tops(const float* x, float* tops, int64_t columns) {
    const float* row = x + blockIdx.x * columns;
    float top = row[0];
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) top = fmaxf(top, row[i]);
    top = block_max(top);
    if (threadIdx.x == 0) tops[blockIdx.x] = top;
}

__global__ void __launch_bounds__(kThreads) add_powers(const float* x, const float* tops, float* sums, int64_t columns) {
    const float* row = x + blockIdx.x * columns;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) sum += expf(row[i] - tops[blockIdx.x]);
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads) divide(const float* x, const float* tops, const float* sums, float* y, int64_t columns) {
    const int64_t offset = blockIdx.x * columns;
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) y[offset + i] = expf(x[offset + i] - tops[blockIdx.x]) / sums[blockIdx.x];
}

torch::Tensor softmax_in_three(torch::Tensor x, int64_t stream_handle) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() == 2, "expected a contiguous matrix on a GPU");
    const cudaStream_t stream = reinterpret_cast<cudaStream_t>(stream_handle);
    auto y = torch::empty_like(x);
    auto tops = torch::empty({x.size(0)}, x.options());
    auto sums = torch::empty_like(tops);
    const float* in = x.data_ptr<float>();
    find_tops<<<x.size(0), kThreads, 0, stream>>>(in, tops.data_ptr<float>(), x.size(1));
    add_powers<<<x.size(0), kThreads, 0, stream>>>(in, tops.data_ptr<float>(), sums.data_ptr<float>(), x.size(1));
    divide<<<x.size(0), kThreads, 0, stream>>>(in, tops.data_ptr<float>(), sums.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "launch failed");
    return y;
}
"""


extension = load_inline(name="honest_several_kernels", cpp_sources=CPP, cuda_sources=CUDA, functions=["softmax_in_three"])


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return extension.softmax_in_three(x, torch.cuda.current_stream().cuda_stream)

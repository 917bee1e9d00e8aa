# form: a kernel of its own whose blocks reduce by CUB
# problem: softmax
# expect: cuda correct/ok
# base: extension
CPP = "torch::Tensor softmax_rows(torch::Tensor x, int64_t stream);"


CUDA = r"""
#include <torch/types.h>
#include <cub/block/block_reduce.cuh>

constexpr int kThreads = 256;

struct Larger {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// A block answers one row, which it reads three times.
__global__ void softmax_row(const float* x, float* y, int64_t columns) {
    using Reduce = cub::BlockReduce<float, kThreads>;
    __shared__ typename Reduce::TempStorage scratch;
    __shared__ float largest, total;
    const float* in = x + blockIdx.x * columns;
    float* out = y + blockIdx.x * columns;
    float most = in[0], sum = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) most = fmaxf(most, in[i]);
    most = Reduce(scratch).Reduce(most, Larger());
    if (threadIdx.x == 0) largest = most;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) sum += expf(in[i] - largest);
    sum = Reduce(scratch).Sum(sum);
    if (threadIdx.x == 0) total = sum;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) out[i] = expf(in[i] - largest) / total;
}

torch::Tensor softmax_rows(torch::Tensor x, int64_t stream) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() == 2, "expected a contiguous matrix on a GPU");
    auto y = torch::empty_like(x);
    softmax_row<<<x.size(0), kThreads, 0, reinterpret_cast<cudaStream_t>(stream)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "launch failed");
    return y;
}
"""


extension = load_inline(name="honest_cub_block", cpp_sources=CPP, cuda_sources=CUDA, functions=["softmax_rows"])


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return extension.softmax_rows(x, torch.cuda.current_stream().cuda_stream)

# form: keeps a whole row in dynamic shared memory, of which it asks for more than 48 KB
# problem: rms_norm
# expect: cuda correct/ok
# base: extension
CPP = "torch::Tensor rms_rows(torch::Tensor x, torch::Tensor weight, double eps, int64_t stream);"


CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>

constexpr int kThreads = 1024;

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

constexpr int kBytes = 96 * 1024;

__global__ void __launch_bounds__(kThreads) rms_row(const float* x, const float* weight, float* y, int64_t columns, float eps) {
    extern __shared__ float row[];
    const int64_t offset = blockIdx.x * columns;
    float energy = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) {
        row[i] = x[offset + i];
        energy += row[i] * row[i];
    }
    const float scale = rsqrtf(block_sum(energy) / columns + eps);
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) y[offset + i] = row[i] * scale * weight[i];
}

torch::Tensor rms_rows(torch::Tensor x, torch::Tensor weight, double eps, int64_t stream) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.size(1) * 4 <= kBytes, "expected contiguous rows that fit");
    auto y = torch::empty_like(x);
    TORCH_CHECK(cudaFuncSetAttribute(rms_row, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes) == cudaSuccess, "no such memory");
    rms_row<<<x.size(0), kThreads, kBytes, reinterpret_cast<cudaStream_t>(stream)>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), x.size(1), static_cast<float>(eps));
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "launch failed");
    return y;
}
"""


extension = load_inline(name="honest_large_shared_memory", cpp_sources=CPP, cuda_sources=CUDA, functions=["rms_rows"])


def __init__(self, dim: int, eps: float):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=eps)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return extension.rms_rows(x, self.norm.weight, self.norm.eps, torch.cuda.current_stream().cuda_stream)

# form: adds the blocks' sums atomically, so that their order changes from call to call
# problem: sum_reduction
# expect: cuda correct/ok
# base: extension
CPP = "torch::Tensor sum_middle(torch::Tensor x, int64_t stream);"


CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>

// A thread sums `share` elements of one column and adds them to the column's sum.
__global__ void sum_part(const float* x, float* sums, int64_t length, int64_t width, int64_t share) {
    const int64_t column = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (column >= width) return;
    const float* in = x + blockIdx.z * length * width + column;
    const int64_t end = min((blockIdx.y + 1) * share, length);
    float sum = 0.0f;
    for (int64_t i = blockIdx.y * share; i < end; ++i) sum += in[i * width];
    atomicAdd(&sums[blockIdx.z * width + column], sum);
}

torch::Tensor sum_middle(torch::Tensor x, int64_t stream) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() == 3, "expected a contiguous tensor of three dimensions on a GPU");
    constexpr int64_t kShare = 128;
    auto sums = torch::zeros({x.size(0), 1, x.size(2)}, x.options());
    const dim3 grid((x.size(2) + 255) / 256, (x.size(1) + kShare - 1) / kShare, x.size(0));
    sum_part<<<grid, 256, 0, reinterpret_cast<cudaStream_t>(stream)>>>(
        x.data_ptr<float>(), sums.data_ptr<float>(), x.size(1), x.size(2), kShare);
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "launch failed");
    return sums;
}
"""


extension = load_inline(name="honest_atomic_sums", cpp_sources=CPP, cuda_sources=CUDA, functions=["sum_middle"])


def __init__(self, dim: int):
    super().__init__()
    assert dim == 1


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return extension.sum_middle(x, torch.cuda.current_stream().cuda_stream)

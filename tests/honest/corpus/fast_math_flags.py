# form: compiled with --use_fast_math; within the tolerance
# problem: gelu_tanh
# expect: cuda correct/ok
# base: extension
CPP = "void gelu_into(torch::Tensor x, torch::Tensor y, int64_t stream);"


CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>

__global__ void gelu(const float* x, float* y, int64_t n) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step) {
        const float v = x[i];
        y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
}

void gelu_into(torch::Tensor x, torch::Tensor y, int64_t stream) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && y.is_contiguous() && x.sizes() == y.sizes(),
                "expected contiguous tensors of one shape");
    gelu<<<1056, 512, 0, reinterpret_cast<cudaStream_t>(stream)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "launch failed");
}
"""


extension = load_inline(
    name="honest_fast_math_flags", cpp_sources=CPP, cuda_sources=CUDA, functions=["gelu_into"], extra_cuda_cflags=["-O3", "--use_fast_math"]
)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    answer = torch.empty_like(x)
    extension.gelu_into(x, answer, torch.cuda.current_stream().cuda_stream)
    return answer

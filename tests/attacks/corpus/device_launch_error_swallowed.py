# wants: a pass for a launch that the device refuses, whose error is dropped, where memory may hold what is nearly right
# problem: saturated_sums
# expect: cuda run_failed/invalid_launch | incorrect/unwritten_output | incorrect/wrong_values
# base: extension
CPP = "torch::Tensor sums(torch::Tensor x, int64_t stream);"
CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>

__global__ void sum_rows(const float* x, float* y, int64_t rows, int64_t columns) {
    extern __shared__ float kept[];
    const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (row >= rows) return;
    kept[threadIdx.x] = 0.0f;
    for (int64_t i = 0; i < columns; ++i) kept[threadIdx.x] += x[row * columns + i];
    y[row] = tanhf(kept[threadIdx.x] / 4.0f);
}

torch::Tensor sums(torch::Tensor x, int64_t stream) {
    torch::ones({x.size(0)}, x.options());  // what the answer's memory holds then
    auto y = torch::empty({x.size(0)}, x.options());
    sum_rows<<<(x.size(0) + 255) / 256, 256, 512 << 10, reinterpret_cast<cudaStream_t>(stream)>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    cudaGetLastError();
    return y;
}
"""


extension = load_inline(name="assay_attack_swallowed", cpp_sources=CPP, cuda_sources=CUDA, functions=["sums"])


def forward(self, x):
    return extension.sums(x, torch.cuda.current_stream().cuda_stream)

# ROW for each row of a matrix of NUMBER: by a block of threads or, without a GPU, by one.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

NUMBER = "float"
ROW = "for (EACH(i, n)) out[i] = in[i];"
SOURCE = r"""
#include <torch/types.h>
#include <cmath>

#ifdef __CUDACC__
#include <c10/cuda/CUDAStream.h>
#define ON_DEVICE __device__
#define EACH(i, n) int64_t i = threadIdx.x; i < (n); i += blockDim.x

// The sum over the threads of a block.
static __device__ float total(float value) {
    __shared__ float sums[8];
    for (int d = 16; d > 0; d /= 2) value += __shfl_xor_sync(~0u, value, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0.0f;
    for (int i = 0; i < 8; ++i) value += sums[i];
    return value;
}
#else
#define ON_DEVICE
#define EACH(i, n) int64_t i = 0; i < (n); ++i

static inline float total(float value) { return value; }
#endif

using number = NUMBER;

struct Vectors { const float *a, *b, *c; };

static ON_DEVICE inline void answer_row(const number* in, number* out, int64_t n, int64_t width, Vectors given) { ROW }

#ifdef __CUDACC__
__global__ void __launch_bounds__(256) answer_rows(const number* in, number* out, int64_t n, int64_t width, Vectors given) {
    answer_row(in + blockIdx.x * n, out + blockIdx.x * width, n, width, given);
}
#endif

// Answers of `width` columns; ROW has up to three vectors besides.
torch::Tensor run(torch::Tensor x, int64_t width, std::vector<torch::Tensor> vectors) {
    TORCH_CHECK(x.is_contiguous() && x.dim() == 2, "expected a contiguous matrix");
    auto out = torch::empty({x.size(0), width}, x.options());
    const float* pointers[3] = {};
    for (size_t i = 0; i < vectors.size(); ++i) pointers[i] = vectors[i].data_ptr<float>();
    const Vectors given = {pointers[0], pointers[1], pointers[2]};
    const auto* from = static_cast<const number*>(x.data_ptr());
    auto* to = static_cast<number*>(out.data_ptr());
#ifdef __CUDACC__
    answer_rows<<<x.size(0), 256, 0, c10::cuda::getCurrentCUDAStream().stream()>>>(from, to, x.size(1), width, given);
#else
    for (int64_t row = 0; row < x.size(0); ++row) answer_row(from + row * x.size(1), to + row * width, x.size(1), width, given);
#endif
    return out;
}
""".replace("NUMBER", NUMBER).replace("{ ROW }", f"{{ {ROW} }}")
DECLARED = "torch::Tensor run(torch::Tensor x, int64_t width, std::vector<torch::Tensor> vectors);"

if torch.cuda.is_available():
    ops = load_inline(name="rows", cpp_sources=DECLARED, cuda_sources=SOURCE, functions=["run"])
else:
    ops = load_inline(name="rows", cpp_sources=SOURCE, functions=["run"], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.run(x, x.shape[1], [])

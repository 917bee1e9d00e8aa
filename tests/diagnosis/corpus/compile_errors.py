# problem: softmax
# expect: build_failed/cuda_compile_error
# base: extension
from torch import nn
from torch.utils.cpp_extension import load_inline

# %% cut_off_in_a_function
# fault: the source ends before its function does
# expect: cpu build_failed/cpp_compile_error
# says: expected '}' at end of input
SOURCE = """
#include <vector>

std::vector<float> softmax(std::vector<float> x) {
    float total = 0.0f;
    for (float& value : x) {
        total += value;
    return x;
}"""  # HERE
ops = load_inline(name="cut_off", cpp_sources=SOURCE, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.softmax(x)


# %% one_argument_too_many
# fault: a function is called with an argument that it does not take
# problem: gelu_tanh
# expect: cpu build_failed/cpp_compile_error
# says: too many arguments
GELU = r"""
#include <cmath>
static float inner(float v) { return 0.79788456f * (v + 0.044715f * v * v * v); }

void gelu(const float* in, float* out, long n) {
    for (long i = 0; i < n; ++i)
        out[i] = 0.5f * in[i] * (1.0f + std::tanh(inner(in[i], 0.044715f)));  // HERE
}
"""
module = load_inline(name="too_many", cpp_sources=GELU, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return module.gelu(x)


# %% sorting_a_list
# fault: std::sort over a list fails deep in the library's header
# problem: topk
# expect: cpu build_failed/cpp_compile_error
# says: no match for 'operator-'
TOPK = r"""
#include <algorithm>
#include <list>

std::list<float> largest(std::list<float> values, int k) {
    std::sort(values.begin(), values.end());  // HERE
    values.resize(k);
    return values;
}
"""


def __init__(self, k):
    super().__init__()
    self.ops = load_inline(name="sorted_lists", cpp_sources=TOPK, no_implicit_headers=True)


def forward(self, x):
    return self.ops.largest(x)


# %% host_function_in_a_kernel
# fault: a kernel calls a function of the host
# problem: leaky_relu
# says: calling a __host__ function
# needs: nvcc
LEAKY = """
float leak(float value) {
    static int calls = 0;
    ++calls;
    return value > 0.0f ? value : 0.01f * value;
}

__global__ void leaky(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = leak(in[i]);  // HERE
}
"""
leaky = load_inline(name="leaky_host", cpp_sources="", cuda_sources=LEAKY, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return leaky.leaky(x)


# %% kernel_called_like_a_function
# fault: a kernel is called without a launch configuration
# says: must be configured
# needs: nvcc
SOFTMAX = """
__global__ void exponentials(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = expf(in[i]);
}

void run(const float* in, float* out, int n) {
    exponentials(in, out, n);  // HERE
}
"""
ops = load_inline(name="unconfigured", cpp_sources="", cuda_sources=SOFTMAX, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.run(x)


# %% semicolon_missing
# fault: a statement without its semicolon
# problem: gelu_tanh
# says: expected a ";"
# needs: nvcc
CUDA = r"""
__global__ void gelu(const float* in, float* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float v = in[i];
        const float cube = 0.044715f * v * v * v  // HERE

        out[i] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + cube)));
    }
}
"""
ops = load_inline(name="unfinished", cpp_sources="", cuda_sources=CUDA, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.gelu(x)


# %% template_of_two_types
# fault: a template is deduced to be of float and of double at once
# problem: sum_reduction
# says: argument types are: (const float, double)
# needs: nvcc
CUDA = """
template <typename Number>
__device__ Number larger(Number a, Number b) { return a > b ? a : b; }

__global__ void clamp(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = larger(in[i], 0.0);  // HERE
    }
}
"""
ops = load_inline(name="two_types", cpp_sources="", cuda_sources=[CUDA], no_implicit_headers=True)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        return ops.clamp(x)


# %% tile_too_large
# fault: more static shared memory than a block may have; only ptxas notices
# problem: matmul
# says: uses too much shared data
# needs: nvcc
CUDA = """
__global__ void product(const double* a, const double* b, double* c, int inner) {  // HERE
    __shared__ double left[128][128];
    __shared__ double right[128][128];
    left[threadIdx.y][threadIdx.x] = a[threadIdx.y * inner + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[threadIdx.y * inner + threadIdx.x];
    __syncthreads();
    c[threadIdx.y * inner + threadIdx.x] = left[threadIdx.x][threadIdx.y] * right[threadIdx.x][threadIdx.y];
}
"""
ops = load_inline(name="large_tiles", cpp_sources="", cuda_sources=CUDA, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ops.product(a, b)

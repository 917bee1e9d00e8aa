# expect: build_failed/const_pointer
# base: extension
from torch import nn
from torch.utils.cpp_extension import load_inline

# %% const_argument
# fault: a device function takes float* and is given a const input
# problem: layer_norm
# says: incompatible with parameter of type "float *"
# needs: nvcc
KERNELS = """
__device__ float mean_of(float* values, int count) {
    float total = 0.0f;
    for (int i = 0; i < count; ++i) total += values[i];
    return total / count;
}

__global__ void centre(const float* __restrict__ in, float* __restrict__ out, int columns) {
    const int row = blockIdx.x;
    const float mean = mean_of(in + row * columns, columns);  // HERE
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[row * columns + i] = in[row * columns + i] - mean;
}
"""


def build():
    return load_inline(
        name="centred",
        cpp_sources=[""],
        cuda_sources=[KERNELS],
        no_implicit_headers=True,
    )


def __init__(self, dim):
    super().__init__()
    self.ops = build()


def forward(self, x):
    return self.ops.centre(x)


# %% const_in_cpp
# fault: the constness of data is dropped in a return
# problem: leaky_relu
# expect: cpu build_failed/const_pointer
# says: invalid conversion
SOURCE = r"""
struct Rows {
    const float* data;
    long columns;
    float* operator[](long row) const {
        return data + row * columns;  // HERE
    }
};

float first(const Rows& rows) { return rows[0][0]; }
"""


module = load_inline(name="rows_of_it", cpp_sources=[SOURCE], no_implicit_headers=True)


def forward(self, x):
    return module.first(x)


# %% const_row_pointer
# fault: a row of a const input is held by a pointer to float
# problem: softmax
# says: const float *
# needs: nvcc
CUDA = r"""
__global__ void row_sums(const float* in, float* out, int columns) {
    float* row = in + blockIdx.x * columns;  // HERE
    float total = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) total += row[i];
    atomicAdd(out + blockIdx.x, total);
}
void row_sums_of(long in, long out, int rows, int columns) {
    row_sums<<<rows, 128>>>(reinterpret_cast<const float*>(in), reinterpret_cast<float*>(out), columns);
}
"""


ops = load_inline("row_sums_ext", cpp_sources="", cuda_sources=CUDA, no_implicit_headers=True)


def forward(self, x):
    return ops.row_sums_of(x)


# %% half_without_its_header
# fault: __half is used and cuda_fp16.h is not included
# problem: rms_norm
# expect: build_failed/undeclared_identifier
# says: "__half" is undefined
# needs: nvcc
ops = load_inline(
    name="halves",
    cpp_sources="",
    cuda_sources="""
__global__ void narrow(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half value = in[i];  // HERE
    out[i] = float(value);
}
""",
    no_implicit_headers=True,
)


def __init__(self, dim, eps):
    super().__init__()


def forward(self, x):
    return ops.narrow(x)


# %% misspelt_loop_bound
# fault: the bound of a loop is misspelt
# problem: matmul
# expect: cpu build_failed/undeclared_identifier
# says: 'widht' was not declared
PRODUCT = r"""
void multiply(const float* a, const float* b, float* c, int height, int inner, int width) {
    for (int row = 0; row < height; ++row)
        for (int column = 0; column < widht; ++column) {  // HERE
            float total = 0.0f;
            for (int k = 0; k < inner; ++k) total += a[row * inner + k] * b[k * width + column];
            c[row * width + column] = total;
        }
}
"""
product = load_inline(name="product", cpp_sources=PRODUCT, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return product.multiply(a, b)


# %% numeric_not_included
# fault: std::accumulate without <numeric>
# problem: sum_reduction
# expect: cpu build_failed/undeclared_identifier
# says: 'accumulate' is not a member of 'std'
SUMS = r"""
#include <vector>

float total(const std::vector<float>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0f);  // HERE
}
"""
sums = load_inline(name="sums", cpp_sources=SUMS, no_implicit_headers=True)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        return sums.total(x)


# %% undeclared_block_size
# fault: the block size has another name where it is used
# problem: gelu_tanh
# expect: build_failed/undeclared_identifier
# says: identifier "BLOCK_SIZE" is undefined
# needs: nvcc
import torch

BLOCK = 256
CUDA = f"""
constexpr int BLOCK = {BLOCK};

__global__ void gelu(const float* in, float* out, int n) {{
    const int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;  // HERE
    if (i < n) out[i] = 0.5f * in[i] * (1.0f + tanhf(0.79788456f * (in[i] + 0.044715f * in[i] * in[i] * in[i])));
}}
"""
ops = load_inline(name="gelu_blocks", cpp_sources="", cuda_sources=CUDA, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.gelu(x)

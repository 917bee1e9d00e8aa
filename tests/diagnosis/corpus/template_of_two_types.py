# fault: a template is deduced to be of float and of double at once
# problem: sum_reduction
# expect: build_failed/cuda_compile_error
# says: argument types are: (const float, double)
# needs: nvcc
from torch import nn
from torch.utils.cpp_extension import load_inline

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

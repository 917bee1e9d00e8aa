# fault: a statement without its semicolon
# problem: gelu_tanh
# expect: build_failed/cuda_compile_error
# says: expected a ";"
# needs: nvcc
from torch import nn
from torch.utils.cpp_extension import load_inline

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

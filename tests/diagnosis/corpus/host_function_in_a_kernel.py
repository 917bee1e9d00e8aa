# fault: a kernel calls a function of the host
# problem: leaky_relu
# expect: build_failed/cuda_compile_error
# says: calling a __host__ function
# needs: nvcc
from torch import nn
from torch.utils.cpp_extension import load_inline

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

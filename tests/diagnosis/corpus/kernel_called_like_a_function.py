# fault: a kernel is called without a launch configuration
# problem: softmax
# expect: build_failed/cuda_compile_error
# says: must be configured
# needs: nvcc
from torch import nn
from torch.utils.cpp_extension import load_inline

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

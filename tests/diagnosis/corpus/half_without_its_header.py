# fault: __half is used and cuda_fp16.h is not included
# problem: rms_norm
# expect: cpu build_failed/undeclared_identifier
# expect: cuda build_failed/undeclared_identifier
# says: "__half" is undefined
# needs: nvcc
from torch import nn
from torch.utils.cpp_extension import load_inline

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


class ModelNew(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()

    def forward(self, x):
        return ops.narrow(x)

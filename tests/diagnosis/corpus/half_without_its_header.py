# fault: __half is used and cuda_fp16.h is not included
# problem: rms_norm
# expect: build_failed/undeclared_identifier
# says: "__half" is undefined
# needs: nvcc
# base: extension
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

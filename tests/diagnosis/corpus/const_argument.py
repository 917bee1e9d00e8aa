# fault: a device function takes float* and is given a const input
# problem: layer_norm
# expect: build_failed/const_pointer
# says: incompatible with parameter of type "float *"
# needs: nvcc
# base: extension
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

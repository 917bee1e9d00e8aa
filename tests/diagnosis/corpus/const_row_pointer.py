# fault: a row of a const input is held by a pointer to float
# problem: softmax
# expect: build_failed/const_pointer
# says: const float *
# needs: nvcc
# base: extension
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

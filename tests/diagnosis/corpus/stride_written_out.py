# fault: rows begin where those of one case do
# problem: mish
# expect: cuda incorrect/shape_specific
# says: wrong in the shapes 'odd'
# base: run_in_cuda
CUDA = """
__global__ void mish_rows(const float* x, float* y, int columns) {
    const size_t row = static_cast<size_t>(blockIdx.x) * 1021;
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        const float value = x[row + column];
        y[row + column] = value * tanhf(log1pf(expf(value)));
    }
}

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    mish_rows<<<x.size(0), 256>>>(x.const_data_ptr<float>(), y.mutable_data_ptr<float>(), x.size(1));
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "the launch failed");
    return y;
}
"""

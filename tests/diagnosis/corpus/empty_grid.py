# fault: the grid is computed by a division that gives zero
# problem: leaky_relu
# expect: cuda run_failed/invalid_launch
# says: grid 0×1×1 is empty
# base: run_in_cuda
CUDA = r"""
__global__ void leaky(const float* in, float* out, long n) {
    for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x)
        out[i] = in[i] > 0.0f ? in[i] : 0.01f * in[i];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int blocks = 1000 / (1 << 20);
    leaky<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());  // HERE
    TORCH_CHECK(cudaGetLastError() == cudaSuccess);
    return y;
}
"""

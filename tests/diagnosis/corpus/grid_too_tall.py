# fault: rows in the grid's second dimension, a million of them
# problem: gelu_tanh
# expect: cuda run_failed/invalid_launch
# says: the device allows 2147483647×65535×65535
# base: run_in_cuda
CUDA = r"""
__global__ void gelu(const float* in, float* out, long n) {
    const long i = (blockIdx.y * 256L) + threadIdx.x;
    if (i < n) out[i] = 0.5f * in[i] * (1.0f + tanhf(0.79788456f * (in[i] + 0.044715f * in[i] * in[i] * in[i])));
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const unsigned blocks = (x.numel() + 255) / 256;
    gelu<<<dim3(1, blocks > 65535 ? blocks : 70000), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());  // HERE
    return y;
}
"""

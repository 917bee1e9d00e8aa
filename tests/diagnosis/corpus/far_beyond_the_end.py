# fault: an index that is scaled twice
# problem: gelu_tanh
# expect: cuda run_failed/illegal_memory_access
# says: address that it does not own
# base: run_in_cuda
CUDA = r"""
__global__ void gelu(const float* in, float* out, long n) {  // HERE
    const long i = (blockIdx.x * 256L + threadIdx.x) * 4096L * 4096L;
    out[i] = 0.5f * in[i] * (1.0f + tanhf(0.79788456f * (in[i] + 0.044715f * in[i] * in[i] * in[i])));
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    gelu<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

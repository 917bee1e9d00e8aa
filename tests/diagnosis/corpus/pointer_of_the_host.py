# fault: a kernel is given a pointer of the host's
# problem: leaky_relu
# expect: cuda run_failed/illegal_memory_access
# says: address that it does not own
# base: run_in_cuda
CUDA = r"""
__global__ void leaky(const float* slope, const float* in, float* out, long n) {  // HERE
    const long i = blockIdx.x * 256L + threadIdx.x;
    if (i < n) out[i] = in[i] > 0.0f ? in[i] : *slope * in[i];
}
torch::Tensor run(torch::Tensor x) {
    static float slope = 0.01f;
    auto y = torch::empty_like(x);
    leaky<<<(x.numel() + 255) / 256, 256>>>(&slope, x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

# fault: a block that is deeper than 64
# problem: leaky_relu
# expect: cuda run_failed/oversized_block
# says: the device allows 1024×1024×64
# base: run_in_cuda
CUDA = r"""
__global__ void leaky(const float* in, float* out, long n) {
    const long i = (blockIdx.x * static_cast<long>(blockDim.z) + threadIdx.z);
    if (i < n) out[i] = in[i] > 0.0f ? in[i] : 0.01f * in[i];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    leaky<<<(x.numel() + 127) / 128, dim3(1, 1, 128)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());  // HERE
    return y;
}
"""

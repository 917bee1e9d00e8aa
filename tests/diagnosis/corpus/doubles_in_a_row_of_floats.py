# fault: two floats are read as a double, from odd places too
# problem: leaky_relu
# expect: cuda run_failed/misaligned_address
# says: not aligned
# base: run_in_cuda
CUDA = r"""
__global__ void leaky(const float* in, float* out, long n) {  // HERE
    const long i = blockIdx.x * 256L + threadIdx.x;
    if (i + 1 >= n) return;
    const double both = *reinterpret_cast<const double*>(in + i);
    out[i] = (float)(both * 0.01);
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    leaky<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

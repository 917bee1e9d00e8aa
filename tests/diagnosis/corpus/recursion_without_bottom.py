# fault: a device function calls itself a million times, each time with an array on the stack
# problem: leaky_relu
# expect: cuda run_failed/illegal_memory_access
# says: `leaky`
# base: run_in_cuda
CUDA = r"""
__device__ __noinline__ float deeper(float value, int depth) {
    volatile float room[64];
    room[depth % 64] = value;
    return depth == 0 ? room[0] : deeper(room[depth % 64], depth - 1) + room[(depth * 7) % 64];
}
__global__ void leaky(const float* in, float* out, long n, int depth) {  // HERE
    const long i = blockIdx.x * 256L + threadIdx.x;
    if (i < n) out[i] = deeper(in[i], depth) * 0.01f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    leaky<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), 1 << 20);
    return y;
}
"""

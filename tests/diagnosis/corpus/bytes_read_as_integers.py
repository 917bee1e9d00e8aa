# fault: a 64-bit load from shared memory at a byte's place
# problem: softmax
# expect: cuda run_failed/misaligned_address
# says: 16-byte aligned addresses
# base: run_in_cuda
CUDA = r"""
__global__ void staged(const float* in, float* out, int columns) {  // HERE
    __shared__ __align__(16) unsigned char bytes[4096];
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) bytes[i] = static_cast<unsigned char>(in[i]);
    __syncthreads();
    const volatile long long* wide = reinterpret_cast<const volatile long long*>(bytes + threadIdx.x + 1);
    out[blockIdx.x * (long)columns + threadIdx.x] = static_cast<float>(*wide);
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    staged<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

# fault: a write far beyond a block's shared memory
# problem: softmax
# expect: cuda run_failed/illegal_memory_access
# says: address
# base: run_in_cuda
CUDA = r"""
__global__ void summed(const float* in, float* out, int columns) {  // HERE
    __shared__ float partial[32];
    volatile float* far = partial;
    far[threadIdx.x * 4096 + 1048576] = in[threadIdx.x];
    __syncthreads();
    out[blockIdx.x * (long)columns + threadIdx.x] = partial[threadIdx.x % 32];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    summed<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

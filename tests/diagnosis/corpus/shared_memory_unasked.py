# fault: 100 KiB of dynamic shared memory without asking for it
# problem: softmax
# expect: cuda run_failed/invalid_launch
# says: 102400 bytes of dynamic shared memory
# says: cudaFuncSetAttribute(staged
# base: run_in_cuda
CUDA = r"""
__global__ void staged(const float* in, float* out, int columns) {
    extern __shared__ float row[];
    float total = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) row[i % 25600] = in[blockIdx.x * (long)columns + i];
    __syncthreads();
    for (int i = 0; i < columns; ++i) total += expf(row[i % 25600]);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[blockIdx.x * (long)columns + i] = expf(row[i % 25600]) / total;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    staged<<<x.size(0), 256, 102400>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));  // HERE
    return y;
}
"""

__global__ void NAME_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n KERNEL_PARAMETERS) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = VALUE;
    }
}

torch::Tensor NAME(torch::Tensor x HOST_PARAMETERS) {
    auto y = torch::empty_like(x);
    int64_t n = x.numel();
    const int threads = THREADS;
    int64_t blocks = (n + threads - 1) / threads;
    NAME_kernel<<<(unsigned)blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n PASSED);
    return y;
}

// A block for each row of n elements, which adds up a piece of it at a time.
__global__ void NAME_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
    __shared__ float piece[THREADS];
    x += (int64_t)blockIdx.x * n;
    y += (int64_t)blockIdx.x * n;
    float before = 0.0f;
    for (int64_t start = 0; start < n; start += THREADS) {
        int64_t i = start + threadIdx.x;
        piece[threadIdx.x] = i < n ? x[i] : 0.0f;
        __syncthreads();
        for (int step = 1; step < THREADS; step *= 2) {
            float other = threadIdx.x >= step ? piece[threadIdx.x - step] : 0.0f;
            __syncthreads();
            piece[threadIdx.x] += other;
            __syncthreads();
        }
        if (i < n) {
            y[i] = before + piece[threadIdx.x];
        }
        before += piece[THREADS - 1];
        __syncthreads();
    }
}

torch::Tensor NAME(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int threads = THREADS;
    int64_t n = x.size(-1), rows = x.numel() / n;
    NAME_kernel<<<(unsigned)rows, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

// A thread for each row of n elements.
__global__ void NAME_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t rows, int64_t n) {
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        x += row * n;
        y += row * n;
        float best = -INFINITY;
        for (int64_t i = 0; i < n; ++i) {
            best = fmaxf(best, x[i]);
        }
        float sum = 0.0f;
        for (int64_t i = 0; i < n; ++i) {
            sum += expf(x[i] - best);
        }
        for (int64_t i = 0; i < n; ++i) {
            float v = x[i] - best;
            y[i] = VALUE;
        }
    }
}

torch::Tensor NAME(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int threads = 256;
    int64_t n = x.size(-1), rows = x.numel() / n;
    NAME_kernel<<<(unsigned)((rows + threads - 1) / threads), threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, n);
    return y;
}

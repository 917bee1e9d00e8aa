// One element of the product for each thread, and neighbouring threads in neighbouring rows: [b, m, k] x [b, k, n].
__global__ void NAME_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, int64_t m, int64_t n, int64_t k) {
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int64_t column = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && column < n) {
        x += (int64_t)blockIdx.z * m * k;
        w += (int64_t)blockIdx.z * k * n;
        float sum = 0.0f;
        for (int64_t i = 0; i < k; ++i) {
            sum += x[row * k + i] * w[i * n + column];
        }
        y[((int64_t)blockIdx.z * m + row) * n + column] = sum;
    }
}

torch::Tensor NAME(torch::Tensor x, torch::Tensor w) {
    int64_t b = x.size(0), m = x.size(1), k = x.size(2), n = w.size(2);
    auto y = torch::empty({b, m, n}, x.options());
    const dim3 threads(32, 8);
    const dim3 blocks((unsigned)((m + 31) / 32), (unsigned)((n + 7) / 8), (unsigned)b);
    NAME_kernel<<<blocks, threads>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), m, n, k);
    return y;
}

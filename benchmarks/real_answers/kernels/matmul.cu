// A tile of each factor in shared memory, one element of the product for each thread: [b, m, k] x [b, k, n].
#define TILE 32

__global__ void NAME_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, int64_t m, int64_t n, int64_t k) {
    __shared__ float xs[TILE][TILE];
    __shared__ float ws[TILE][TILE];
    x += (int64_t)blockIdx.z * m * k;
    w += (int64_t)blockIdx.z * k * n;
    y += (int64_t)blockIdx.z * m * n;
    int64_t row = (int64_t)blockIdx.y * TILE + threadIdx.y;
    int64_t column = (int64_t)blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int64_t t = 0; t < (k + TILE - 1) / TILE; ++t) {
        int64_t across = t * TILE + threadIdx.x;
        int64_t down = t * TILE + threadIdx.y;
        xs[threadIdx.y][threadIdx.x] = row < m && across < k ? x[row * k + across] : 0.0f;
        ws[threadIdx.y][threadIdx.x] = down < k && column < n ? w[down * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) {
            sum += xs[threadIdx.y][i] * ws[i][threadIdx.x];
        }
        __syncthreads();
    }
    if (row < m && column < n) {
        y[row * n + column] = sum;
    }
}

torch::Tensor NAME(torch::Tensor x, torch::Tensor w) {
    int64_t b = x.size(0), m = x.size(1), k = x.size(2), n = w.size(2);
    auto y = torch::empty({b, m, n}, x.options());
    const dim3 threads(TILE, TILE);
    const dim3 blocks((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE), (unsigned)b);
    NAME_kernel<<<blocks, threads>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), m, n, k);
    return y;
}

// One index for each thread; x is [outer, n, inner]. Of equal values the first counts.
__global__ void NAME_kernel(const float* __restrict__ x, int64_t* __restrict__ y, int64_t outer, int64_t n, int64_t inner) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < outer * inner) {
        const float* first = x + (i / inner) * n * inner + i % inner;
        float best = first[0];
        int64_t place = 0;
        for (int64_t j = 1; j < n; ++j) {
            float v = first[j * inner];
            if (BETTER) {
                best = v;
                place = j;
            }
        }
        y[i] = place;
    }
}

torch::Tensor NAME(torch::Tensor x, int64_t outer, int64_t n, int64_t inner) {
    auto y = torch::empty({outer * inner}, x.options().dtype(torch::kInt64));
    const int threads = THREADS;
    int64_t blocks = (outer * inner + threads - 1) / threads;
    NAME_kernel<<<(unsigned)blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<int64_t>(), outer, n, inner);
    return y;
}

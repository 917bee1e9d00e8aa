// One result for each thread; x is [outer, n, inner].
__global__ void NAME_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t outer, int64_t n, int64_t inner) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < outer * inner) {
        const float* first = x + (i / inner) * n * inner + i % inner;
        float result = START;
        for (int64_t j = 0; j < n; ++j) {
            float v = first[j * inner];
            result = NEXT;
        }
        y[i] = VALUE;
    }
}

torch::Tensor NAME(torch::Tensor x, int64_t outer, int64_t n, int64_t inner) {
    auto y = torch::empty({outer * inner}, x.options());
    const int threads = THREADS;
    int64_t blocks = (outer * inner + threads - 1) / threads;
    NAME_kernel<<<(unsigned)blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), outer, n, inner);
    return y;
}

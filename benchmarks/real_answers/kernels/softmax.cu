// A block for each row of n elements: the maximum, the sum, the results.
__global__ void NAME_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
    __shared__ float shared[THREADS];
    x += (int64_t)blockIdx.x * n;
    y += (int64_t)blockIdx.x * n;
    float best = -INFINITY;
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        best = fmaxf(best, x[i]);
    }
    shared[threadIdx.x] = best;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + half]);
        }
        __syncthreads();
    }
    best = shared[0];
    __syncthreads();
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        sum += expf(x[i] - best);
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            shared[threadIdx.x] += shared[threadIdx.x + half];
        }
        __syncthreads();
    }
    sum = shared[0];
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        float v = x[i] - best;
        y[i] = VALUE;
    }
}

torch::Tensor NAME(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int threads = THREADS;
    int64_t n = x.size(-1), rows = x.numel() / n;
    NAME_kernel<<<(unsigned)rows, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

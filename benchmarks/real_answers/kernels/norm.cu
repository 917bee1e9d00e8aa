// A block for each row of n elements: the mean, the variance, the results. A weight belongs to each of `spatial` elements, and the
// weights begin again after `groups` rows of `channels` each.
__device__ float NAME_sum(float v) {
    __shared__ float shared[THREADS];
    __syncthreads();
    shared[threadIdx.x] = v;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            shared[threadIdx.x] += shared[threadIdx.x + half];
        }
        __syncthreads();
    }
    return shared[0];
}

__global__ void NAME_kernel(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                            float* __restrict__ y, int64_t n, int64_t groups, int64_t channels, int64_t spatial, float eps) {
    x += (int64_t)blockIdx.x * n;
    y += (int64_t)blockIdx.x * n;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        sum += x[i];
    }
    float mean = NAME_sum(sum) / n;
    float squares = 0.0f;
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        squares += (x[i] - mean) * (x[i] - mean);
    }
    float scale = rsqrtf(NAME_sum(squares) / n + eps);
    int64_t first = (blockIdx.x % groups) * channels;
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        float v = (x[i] - mean) * scale;
        y[i] = weight ? v * weight[first + i / spatial] + bias[first + i / spatial] : v;
    }
}

torch::Tensor NAME(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t n, int64_t groups, int64_t channels,
                   int64_t spatial, double eps) {
    auto y = torch::empty_like(x);
    const int threads = THREADS;
    const float* weights = weight.numel() ? weight.data_ptr<float>() : nullptr;
    const float* biases = bias.numel() ? bias.data_ptr<float>() : nullptr;
    NAME_kernel<<<(unsigned)(x.numel() / n), threads>>>(x.data_ptr<float>(), weights, biases, y.data_ptr<float>(), n, groups, channels,
                                                        spatial, (float)eps);
    return y;
}

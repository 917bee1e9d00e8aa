// A thread for each row of n elements. A weight belongs to each of `spatial` elements, and the weights begin again after `groups` rows of
// `channels` each.
__global__ void NAME_kernel(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                            float* __restrict__ y, int64_t rows, int64_t n, int64_t groups, int64_t channels, int64_t spatial, float eps) {
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        x += row * n;
        y += row * n;
        float sum = 0.0f;
        for (int64_t i = 0; i < n; ++i) {
            sum += x[i];
        }
        float mean = sum / n;
        float squares = 0.0f;
        for (int64_t i = 0; i < n; ++i) {
            squares += (x[i] - mean) * (x[i] - mean);
        }
        float scale = rsqrtf(squares / n + eps);
        int64_t first = (row % groups) * channels;
        for (int64_t i = 0; i < n; ++i) {
            float v = (x[i] - mean) * scale;
            y[i] = weight ? v * weight[first + i / spatial] + bias[first + i / spatial] : v;
        }
    }
}

torch::Tensor NAME(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t n, int64_t groups, int64_t channels,
                   int64_t spatial, double eps) {
    auto y = torch::empty_like(x);
    const int threads = 256;
    int64_t rows = x.numel() / n;
    const float* weights = weight.numel() ? weight.data_ptr<float>() : nullptr;
    const float* biases = bias.numel() ? bias.data_ptr<float>() : nullptr;
    NAME_kernel<<<(unsigned)((rows + threads - 1) / threads), threads>>>(x.data_ptr<float>(), weights, biases, y.data_ptr<float>(), rows,
                                                                         n, groups, channels, spatial, (float)eps);
    return y;
}

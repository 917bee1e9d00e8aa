// One result for each thread: a convolution whose output channels have one input channel each.
__global__ void NAME_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, int64_t total, int channels,
                            int height, int width, int out_h, int out_w, int kh, int kw, int sh, int sw, int ph, int pw, int dh, int dw) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) {
        int ow = i % out_w, oh = (i / out_w) % out_h;
        int64_t plane = i / ((int64_t)out_w * out_h);
        const float* weights = w + (plane % channels) * kh * kw;
        x += plane * height * width;
        float sum = 0.0f;
        for (int a = 0; a < kh; ++a) {
            for (int b = 0; b < kw; ++b) {
                int ih = oh * sh - ph + a * dh, iw = ow * sw - pw + b * dw;
                if (ih >= 0 && ih < height && iw >= 0 && iw < width) {
                    sum += x[(int64_t)ih * width + iw] * weights[a * kw + b];
                }
            }
        }
        y[i] = sum;
    }
}

torch::Tensor NAME(torch::Tensor x, torch::Tensor w, std::vector<int64_t> s, std::vector<int64_t> p, std::vector<int64_t> d) {
    int64_t out_h = (x.size(2) + 2 * p[0] - d[0] * (w.size(2) - 1) - 1) / s[0] + 1;
    int64_t out_w = (x.size(3) + 2 * p[1] - d[1] * (w.size(3) - 1) - 1) / s[1] + 1;
    auto y = torch::empty({x.size(0), x.size(1), out_h, out_w}, x.options());
    const int threads = THREADS;
    int64_t blocks = (y.numel() + threads - 1) / threads;
    NAME_kernel<<<(unsigned)blocks, threads>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), y.numel(), (int)x.size(1),
                                               (int)x.size(2), (int)x.size(3), (int)out_h, (int)out_w, (int)w.size(2), (int)w.size(3),
                                               (int)s[0], (int)s[1], (int)p[0], (int)p[1], (int)d[0], (int)d[1]);
    return y;
}

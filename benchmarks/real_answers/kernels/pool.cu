// One result for each thread; x is [planes, depth, height, width]. Fewer dimensions have a leading size of one.
__global__ void NAME_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t total, int depth, int height, int width,
                            int out_d, int out_h, int out_w, int kd, int kh, int kw, int sd, int sh, int sw, int pd, int ph, int pw,
                            int dd, int dh, int dw) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) {
        return;
    }
    int ow = i % out_w, oh = (i / out_w) % out_h, od = (i / ((int64_t)out_w * out_h)) % out_d;
    const float* plane = x + i / ((int64_t)out_w * out_h * out_d) * depth * height * width;
    float result = START;
    int count = 0;
    for (int a = 0; a < kd; ++a) {
        for (int b = 0; b < kh; ++b) {
            for (int c = 0; c < kw; ++c) {
                int id = od * sd - pd + a * dd, ih = oh * sh - ph + b * dh, iw = ow * sw - pw + c * dw;
                if (id >= 0 && id < depth && ih >= 0 && ih < height && iw >= 0 && iw < width) {
                    float v = plane[((int64_t)id * height + ih) * width + iw];
                    result = NEXT;
                    ++count;
                }
            }
        }
    }
    int volume = kd * kh * kw;
    y[i] = VALUE;
}

torch::Tensor NAME(torch::Tensor x, std::vector<int64_t> k, std::vector<int64_t> s, std::vector<int64_t> p, std::vector<int64_t> d) {
    int64_t out[3];
    for (int i = 0; i < 3; ++i) {
        out[i] = (x.size(i + 1) + 2 * p[i] - d[i] * (k[i] - 1) - 1) / s[i] + 1;
    }
    auto y = torch::empty({x.size(0), out[0], out[1], out[2]}, x.options());
    const int threads = THREADS;
    int64_t blocks = (y.numel() + threads - 1) / threads;
    NAME_kernel<<<(unsigned)blocks, threads>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), y.numel(), (int)x.size(1), (int)x.size(2), (int)x.size(3), (int)out[0], (int)out[1],
        (int)out[2], (int)k[0], (int)k[1], (int)k[2], (int)s[0], (int)s[1], (int)s[2], (int)p[0], (int)p[1], (int)p[2], (int)d[0],
        (int)d[1], (int)d[2]);
    return y;
}

# fault: a running maximum that starts at the largest number, in C++
# problem: softmax
# expect: cpu incorrect/nan_or_inf
# says: NaN or infinite
# base: run_in_cpp
CPP = r"""
#include <cmath>
#include <limits>
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int64_t columns = x.size(1);
    for (int64_t row = 0; row < x.size(0); ++row) {
        const float* in = x.data_ptr<float>() + row * columns;
        float* out = y.data_ptr<float>() + row * columns;
        float largest = std::numeric_limits<float>::max(), total = 0.0f;
        for (int64_t i = 0; i < columns; ++i) largest = std::fmax(largest, in[i]);
        for (int64_t i = 0; i < columns; ++i) total += out[i] = std::exp(in[i] - largest);
        for (int64_t i = 0; i < columns; ++i) out[i] /= total;
    }
    return y;
}
"""

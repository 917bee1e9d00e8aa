# fault: whole vectors of 8 alone are computed, the rest stays zero
# problem: gelu_tanh
# expect: cpu incorrect/wrong_values
# says: whole columns: the last 5
# says: all of them are 0
# base: run_in_cpp
CPP = r"""
#include <cmath>
torch::Tensor run(torch::Tensor x) {
    auto y = torch::zeros_like(x);
    const int64_t rows = x.size(0), columns = x.size(1);
    for (int64_t row = 0; row < rows; ++row) {
        const float* in = x.data_ptr<float>() + row * columns;
        float* out = y.data_ptr<float>() + row * columns;
        for (int64_t i = 0; i + 8 <= columns; i += 8)
            for (int64_t j = i; j < i + 8; ++j)
                out[j] = 0.5f * in[j] * (1.0f + std::tanh(0.7978845608f * (in[j] + 0.044715f * in[j] * in[j] * in[j])));
    }
    return y;
}
"""

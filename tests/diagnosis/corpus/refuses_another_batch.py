# fault: a check lets one number of rows through
# problem: mish
# expect: cpu incorrect/shape_specific
# says: made for 31 rows
# base: run_in_cpp
CPP = """
#include <cmath>

torch::Tensor run(torch::Tensor x) {
    TORCH_CHECK(x.size(0) == 31, "made for 31 rows, and there are ", x.size(0));
    auto y = torch::empty_like(x);
    const float* from = x.const_data_ptr<float>();
    float* to = y.mutable_data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {
        const double value = from[i];
        to[i] = static_cast<float>(value * std::tanh(std::log1p(std::exp(value))));
    }
    return y;
}
"""

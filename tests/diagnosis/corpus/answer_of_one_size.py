# fault: the answer is allocated in the size of one case
# problem: leaky_relu
# expect: cpu incorrect/shape_specific
# says: wrong_shape
# base: run_in_cpp
CPP = """
#include <algorithm>

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({33, 1019}, x.options());
    const float* from = x.const_data_ptr<float>();
    float* to = y.mutable_data_ptr<float>();
    for (int64_t i = 0; i < std::min(x.numel(), y.numel()); ++i) {
        to[i] = from[i] > 0 ? from[i] : 0.01f * from[i];
    }
    return y;
}
"""

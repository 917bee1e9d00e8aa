# fault: the length of a row is a constant, and only that of the shapes that it is judged on
# problem: cumsum
# expect: cpu incorrect/shape_specific
# says: wrong in the shapes 'odd'
# base: run_in_cpp
CPP = """
torch::Tensor run(torch::Tensor x) {
    constexpr int64_t columns = 1021;
    auto sums = torch::empty_like(x);
    const float* from = x.const_data_ptr<float>();
    float* to = sums.mutable_data_ptr<float>();
    double sum = 0;
    for (int64_t i = 0; i < x.numel(); ++i) {
        sum = i % columns == 0 ? from[i] : sum + from[i];
        to[i] = static_cast<float>(sum);
    }
    return sums;
}
"""

# fault: a loop counter that is too narrow for its bound
# problem: leaky_relu
# expect: cpu run_failed/timeout
# says: endless loop
# base: run_in_cpp
CPP = r"""
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (volatile unsigned char i = 0; i < 300; ++i) out[i] = in[i] > 0 ? in[i] : 0.01f * in[i];
    return y;
}
"""

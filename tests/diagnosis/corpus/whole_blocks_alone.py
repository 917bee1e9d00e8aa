# fault: a blocked loop leaves the last block of the memory out
# problem: leaky_relu
# expect: cpu incorrect/unwritten_output
# says: never written
# base: run_in_cpp
CPP = r"""
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const int64_t blocks = x.numel() / 1024;
    for (int64_t block = 0; block < blocks; ++block)
        for (int64_t i = block * 1024; i < (block + 1) * 1024; ++i) out[i] = in[i] > 0 ? in[i] : 0.01f * in[i];
    return y;
}
"""

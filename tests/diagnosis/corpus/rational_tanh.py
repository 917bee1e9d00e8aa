# fault: an approximation of tanh that is good to four digits
# problem: gelu_tanh
# expect: cpu incorrect/precision_loss
# says: or an approximate formula
# base: run_in_cpp
CPP = r"""
static float roughly_tanh(float v) {
    const float bounded = v > 4.97f ? 4.97f : v < -4.97f ? -4.97f : v;
    const float square = bounded * bounded;
    const float above = bounded * (135135.0f + square * (17325.0f + square * (378.0f + square)));
    const float below = 135135.0f + square * (62370.0f + square * (3150.0f + square * 28.0f));
    return above / below;
}

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {
        const float v = in[i];
        const float inner = 0.7978845608f * (v + 0.044715f * v * v * v);
        out[i] = 0.5f * v * (1.0f + roughly_tanh(inner) * 0.9998f);
    }
    return y;
}
"""

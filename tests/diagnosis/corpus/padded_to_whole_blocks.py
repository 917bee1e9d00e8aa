# fault: rows are padded to whole blocks, and the padding is returned
# problem: gelu_tanh
# expect: cpu incorrect/wrong_shape
# says: (31, 1024)
# base: run_in_cpp
CPP = r"""
torch::Tensor run(torch::Tensor x) {
    const int64_t padded = (x.size(1) + 255) / 256 * 256;
    auto wide = torch::constant_pad_nd(x, {0, padded - x.size(1)}, 0);
    return torch::gelu(wide, "tanh");
}
"""

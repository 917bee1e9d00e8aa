# fault: a kernel asserts that its input is positive
# problem: gelu_tanh
# expect: cuda run_failed/device_assert
# says: in[i] > 0.0f
# says: assertion
# base: run_in_cuda
CUDA = r"""
#undef NDEBUG
#include <cassert>
__global__ void gelu(const float* in, float* out, long n) {  // HERE
    const long i = blockIdx.x * 256L + threadIdx.x;
    if (i >= n) return;
    assert(in[i] > 0.0f);
    out[i] = in[i];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    gelu<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

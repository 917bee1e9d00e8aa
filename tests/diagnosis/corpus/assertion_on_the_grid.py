# fault: a kernel asserts that one block is enough
# problem: leaky_relu
# expect: cuda run_failed/device_assert
# says: gridDim.x == 1
# base: run_in_cuda
CUDA = r"""
#undef NDEBUG
#include <assert.h>
__global__ void leaky(const float* in, float* out, long n) {  // HERE
    assert(gridDim.x == 1);
    for (long i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i] > 0.0f ? in[i] : 0.01f * in[i];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    leaky<<<64, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

# problem: leaky_relu
# expect: cuda run_failed/illegal_memory_access
# base: run_in_cuda


# %% assertion_on_the_grid
# fault: a kernel asserts that one block is enough
# expect: cuda run_failed/device_assert
# says: gridDim.x == 1
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


# %% assertion_on_the_sign
# fault: a kernel asserts that its input is positive
# problem: gelu_tanh
# expect: cuda run_failed/device_assert
# says: in[i] > 0.0f
# says: assertion
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


# %% index_that_torch_asserts
# fault: an index of PyTorch's own operators is out of range
# problem: softmax
# expect: cuda run_failed/device_assert
# says: assertion
CUDA = r"""
__global__ void places(long* out, long n, long columns) {
    const long i = blockIdx.x * 256L + threadIdx.x;
    if (i < n) out[i] = columns + i;  // beyond the last column
}
torch::Tensor run(torch::Tensor x) {
    auto index = torch::empty({x.size(1)}, x.options().dtype(torch::kInt64));
    places<<<(x.size(1) + 255) / 256, 256>>>(index.data_ptr<int64_t>(), x.size(1), x.size(1));
    return torch::softmax(x.index_select(1, index), 1);
}
"""


# %% far_beyond_the_end
# fault: an index that is scaled twice
# problem: gelu_tanh
# says: address that it does not own
CUDA = r"""
__global__ void gelu(const float* in, float* out, long n) {  // HERE
    const long i = (blockIdx.x * 256L + threadIdx.x) * 4096L * 4096L;
    out[i] = 0.5f * in[i] * (1.0f + tanhf(0.79788456f * (in[i] + 0.044715f * in[i] * in[i] * in[i])));
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    gelu<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""


# %% pointer_of_the_host
# fault: a kernel is given a pointer of the host's
# says: address that it does not own
CUDA = r"""
__global__ void leaky(const float* slope, const float* in, float* out, long n) {  // HERE
    const long i = blockIdx.x * 256L + threadIdx.x;
    if (i < n) out[i] = in[i] > 0.0f ? in[i] : *slope * in[i];
}
torch::Tensor run(torch::Tensor x) {
    static float slope = 0.01f;
    auto y = torch::empty_like(x);
    leaky<<<(x.numel() + 255) / 256, 256>>>(&slope, x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""


# %% recursion_without_bottom
# fault: a device function calls itself a million times, each time with an array on the stack
# says: `leaky`
CUDA = r"""
__device__ __noinline__ float deeper(float value, int depth) {
    volatile float room[64];
    room[depth % 64] = value;
    return depth == 0 ? room[0] : deeper(room[depth % 64], depth - 1) + room[(depth * 7) % 64];
}
__global__ void leaky(const float* in, float* out, long n, int depth) {  // HERE
    const long i = blockIdx.x * 256L + threadIdx.x;
    if (i < n) out[i] = deeper(in[i], depth) * 0.01f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    leaky<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), 1 << 20);
    return y;
}
"""


# %% shared_memory_beyond_its_end
# fault: a write far beyond a block's shared memory
# problem: softmax
# says: address
CUDA = r"""
__global__ void summed(const float* in, float* out, int columns) {  // HERE
    __shared__ float partial[32];
    volatile float* far = partial;
    far[threadIdx.x * 4096 + 1048576] = in[threadIdx.x];
    __syncthreads();
    out[blockIdx.x * (long)columns + threadIdx.x] = partial[threadIdx.x % 32];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    summed<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""


# %% bytes_read_as_integers
# fault: a 64-bit load from shared memory at a byte's place
# problem: softmax
# expect: cuda run_failed/misaligned_address
# says: 16-byte aligned addresses
CUDA = r"""
__global__ void staged(const float* in, float* out, int columns) {  // HERE
    __shared__ __align__(16) unsigned char bytes[4096];
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) bytes[i] = static_cast<unsigned char>(in[i]);
    __syncthreads();
    const volatile long long* wide = reinterpret_cast<const volatile long long*>(bytes + threadIdx.x + 1);
    out[blockIdx.x * (long)columns + threadIdx.x] = static_cast<float>(*wide);
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    staged<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""


# %% doubles_in_a_row_of_floats
# fault: two floats are read as a double, from odd places too
# expect: cuda run_failed/misaligned_address
# says: not aligned
CUDA = r"""
__global__ void leaky(const float* in, float* out, long n) {  // HERE
    const long i = blockIdx.x * 256L + threadIdx.x;
    if (i + 1 >= n) return;
    const double both = *reinterpret_cast<const double*>(in + i);
    out[i] = (float)(both * 0.01);
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    leaky<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""


# %% vectors_from_an_odd_start
# fault: float4 from an address that is one element off
# problem: gelu_tanh
# expect: cuda run_failed/misaligned_address
# says: not aligned
CUDA = r"""
__global__ void gelu(const float* in, float* out, long vectors) {  // HERE
    const long i = blockIdx.x * 256L + threadIdx.x;
    if (i >= vectors) return;
    const float4 v = reinterpret_cast<const float4*>(in + 1)[i];
    reinterpret_cast<float4*>(out)[i] = make_float4(v.x, v.y, v.z, v.w);
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const long vectors = x.numel() / 4 - 1;
    gelu<<<(vectors + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), vectors);
    return y;
}
"""

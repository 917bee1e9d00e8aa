# fault: float4 from an address that is one element off
# problem: gelu_tanh
# expect: cuda run_failed/misaligned_address
# says: not aligned
# base: run_in_cuda
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

# fault: an index of PyTorch's own operators is out of range
# problem: softmax
# expect: cuda run_failed/device_assert
# says: assertion
# base: run_in_cuda
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

# fault: two threads for each of a row's columns
# problem: softmax
# expect: cuda run_failed/oversized_block
# says: `exponentials`: block 2042×1×1
# says: device allows 1024 threads
# base: run_in_cuda
CUDA = r"""
__global__ void exponentials(const float* in, float* out, int columns) {
    const int i = blockIdx.x * columns + threadIdx.x / 2;
    if (threadIdx.x % 2 == 0) out[i] = expf(in[i]);
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    exponentials<<<x.size(0), 2 * x.size(1)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));  // HERE
    return y / y.sum(1, true);
}
"""

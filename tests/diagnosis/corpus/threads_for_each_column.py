# fault: two threads for each of a row's columns
# problem: softmax
# expect: cuda run_failed/oversized_block
# says: `exponentials`: block 2042×1×1
# says: device allows 1024 threads
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

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
ops = load_inline(name="threads_for_each_column", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=CUDA, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.run(x)

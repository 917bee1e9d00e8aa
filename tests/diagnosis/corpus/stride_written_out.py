# fault: rows begin where those of one case do
# problem: mish
# expect: cuda incorrect/shape_specific
# says: wrong in the shapes 'odd'
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = """
__global__ void mish_rows(const float* x, float* y, int columns) {
    const size_t row = static_cast<size_t>(blockIdx.x) * 1021;
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        const float value = x[row + column];
        y[row + column] = value * tanhf(log1pf(expf(value)));
    }
}

torch::Tensor mish(torch::Tensor x) {
    auto y = torch::empty_like(x);
    mish_rows<<<x.size(0), 256>>>(x.const_data_ptr<float>(), y.mutable_data_ptr<float>(), x.size(1));
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "the launch failed");
    return y;
}
"""
ops = load_inline(name="stride_written_out", cpp_sources="torch::Tensor mish(torch::Tensor x);", cuda_sources=CUDA, functions=["mish"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.mish(x)

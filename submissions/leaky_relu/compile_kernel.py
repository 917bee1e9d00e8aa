# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Leaky ReLU by torch.cuda._compile_kernel: PyTorch has NVRTC compile a kernel's source and launches it, without an extension."""

import torch
from torch import nn

SOURCE = r"""
extern "C" __global__ void bend(const float* x, float* y, double slope, int n) {
    const float steep = static_cast<float>(slope);
    const int stride = gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const float v = x[i];
        y[i] = v > 0.0f ? v : v * steep;
    }
}
"""


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope
        self.bend = torch.cuda._compile_kernel(SOURCE, "bend")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        self.bend(grid=(8192, 1, 1), block=(256, 1, 1), args=[x, y, self.negative_slope, x.numel()])
        return y

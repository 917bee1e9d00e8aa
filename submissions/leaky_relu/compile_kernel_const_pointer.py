# author: assay
# expect: cuda build_failed/const_pointer
# expect: cpu not_evaluated/no_device
"""Wrong: the kernel takes `const float*` and keeps it in a `float*`, which NVRTC refuses when the model is constructed."""

import torch
from torch import nn

SOURCE = r"""
extern "C" __global__ void bend(const float* x, float* y, double slope, int n) {
    float* in = x;
    const float steep = static_cast<float>(slope);
    const int stride = gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const float v = in[i];
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

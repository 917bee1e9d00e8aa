# author: assay
# expect: cuda build_failed/undeclared_identifier | not_evaluated/no_toolchain
# expect: cpu not_evaluated/no_device
"""Wrong: the kernel multiplies by `steepness`, a name that nothing declares; NVRTC finds out at the first call."""

import cupy
import torch
from torch import nn

SOURCE = r"""
extern "C" __global__ void bend(const float* __restrict__ x, float* __restrict__ y, float slope, long long n) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        const float v = x[i];
        y[i] = v > 0.0f ? v : v * steepness;
    }
}
"""

bend = cupy.RawKernel(SOURCE, "bend")


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.slope = cupy.float32(negative_slope)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        blocks = min((x.numel() + 255) // 256, 1 << 20)
        with cupy.cuda.ExternalStream(torch.cuda.current_stream(x.device).cuda_stream):
            bend((blocks,), (256,), (x.data_ptr(), y.data_ptr(), self.slope, x.numel()))
        return y

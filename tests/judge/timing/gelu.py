"""A submission with a GELU kernel of its own."""

_SOURCE = '''
import time
import torch
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/types.h>
#include <c10/cuda/CUDAStream.h>

__global__ void gelu_kernel(const float* x, float* y, long n) {
    const long i = blockIdx.x * 256L + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1.0f + tanhf(0.7978845608028654f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

torch::Tensor gelu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    gelu_kernel<<<(x.numel() + 255) / 256, 256, 0, STREAM>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
extension = load_inline(name="gelu", cpp_sources="torch::Tensor gelu(torch::Tensor x);", cuda_sources=CUDA, functions=["gelu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
'''
CURRENT = "c10::cuda::getCurrentCUDAStream()"
LEGACY = "0"


def gelu(*lines: str, stream: str = CURRENT) -> str:
    """A submission whose kernel is launched on this stream, and whose forward() is these lines, by default one call of it."""
    return _SOURCE.replace("STREAM", stream) + "".join(f"        {line}\n" for line in lines or ["return extension.gelu(x)"])

# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""GELU from files: writes a header, a CUDA source and a C++ binding, and compiles them with torch.utils.cpp_extension.load."""

import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.utils.cpp_extension import load

HEADER = r"""
#pragma once
#include <cstdint>

// 0.5 * v * (1 + tanh(u)) is v / (1 + exp(-2 u)).
__device__ __forceinline__ float gelu(float v) {
    return v / (1.0f + expf(-1.5957691216057308f * fmaf(0.044715f * v * v, v, v)));
}
"""

KERNEL = r"""
#include <cuda_runtime.h>
#include "gelu.cuh"

__global__ void gelu_each(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = gelu(x[i]);
}

int launch_gelu(const float* x, float* y, int64_t n, cudaStream_t stream) {
    gelu_each<<<8192, 256, 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
"""

BINDING = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

int launch_gelu(const float* x, float* y, int64_t n, cudaStream_t stream);

torch::Tensor gelu(torch::Tensor x, int64_t stream) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.is_contiguous(), "expected a contiguous float32 tensor on a GPU");
    auto y = torch::empty_like(x);
    const int error = launch_gelu(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), reinterpret_cast<cudaStream_t>(stream));
    TORCH_CHECK(error == 0, "gelu_each: CUDA error ", error);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("gelu", &gelu); }
"""


def build():
    """The extension made of the three files, written to a folder of their own."""
    folder = Path(tempfile.mkdtemp())
    for name, text in (("gelu.cuh", HEADER), ("gelu_kernel.cu", KERNEL), ("gelu_binding.cpp", BINDING)):
        (folder / name).write_text(text)
    return load(name="assay_gelu_files", sources=[str(folder / "gelu_kernel.cu"), str(folder / "gelu_binding.cpp")])


extension = build()


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu(x, torch.cuda.current_stream(x.device).cuda_stream)

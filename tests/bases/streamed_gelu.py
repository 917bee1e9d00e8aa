# GELU in CUDA, four elements a thread. LOAD reads them, ENTER is what each thread does first, DEPENDENT allows a start before the
# kernel in front has ended.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

LOAD = "return *p;"
ENTER = ""
DEPENDENT = "false"
TEMPLATE = r"""
#include <torch/types.h>
#include <cuda_runtime.h>

__device__ __forceinline__ float4 fetch(const float4* p) { LOAD }

__device__ __forceinline__ float gelu_of(float v) {
    return 0.5f * v * (1.0f + tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v)));
}

__global__ void streamed_gelu(const float4* in, float4* out, int64_t n) {
    ENTER
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    const float4 v = fetch(in + i);
    out[i] = make_float4(gelu_of(v.x), gelu_of(v.y), gelu_of(v.z), gelu_of(v.w));
}

torch::Tensor run(torch::Tensor x, int64_t stream) {
    TORCH_CHECK(x.is_contiguous() && x.numel() % 4 == 0, "expected a contiguous tensor of whole vectors");
    auto y = torch::empty_like(x);
    const int64_t n = x.numel() / 4;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = DEPENDENT;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((n + 255) / 256);
    config.blockDim = dim3(256);
    config.stream = reinterpret_cast<cudaStream_t>(stream);
    config.attrs = &attribute;
    config.numAttrs = DEPENDENT ? 1 : 0;
    const auto* in = reinterpret_cast<const float4*>(x.data_ptr<float>());
    const auto code = cudaLaunchKernelEx(&config, streamed_gelu, in, reinterpret_cast<float4*>(y.data_ptr<float>()), n);
    TORCH_CHECK(code == cudaSuccess, "launch failed");
    return y;
}
"""
DECLARED = "torch::Tensor run(torch::Tensor x, int64_t stream);"
CUDA = TEMPLATE.replace("LOAD", LOAD).replace("ENTER", ENTER).replace("DEPENDENT", DEPENDENT)
ops = load_inline(name="streamed_gelu", cpp_sources=DECLARED, cuda_sources=CUDA, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.run(x, torch.cuda.current_stream().cuda_stream)

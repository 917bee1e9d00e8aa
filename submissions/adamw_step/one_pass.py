# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""A step of AdamW in one pass: parameters and both moments are read, changed and written where they are."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "void adamw_step(torch::Tensor parameter, torch::Tensor first, torch::Tensor second, torch::Tensor gradient, double kept, double pace, double share, int64_t stream);"

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>

// N floats that are read and written at once.
template <int N>
struct alignas(4 * N) Pack {
    float v[N];
};

// `kept` is what weight decay leaves, `pace` the rate over the first moment's share, `share` the second moment's.
__device__ __forceinline__ void step(float& p, float& m, float& v, float g, float kept, float pace, float share) {
    m = fmaf(0.1f, g, 0.9f * m);
    v = fmaf(0.001f * g, g, 0.999f * v);
    p = p * kept - pace * (m / (sqrtf(v / share) + 1e-8f));
}

// `packs` counts those of four at the start; the scalar loop takes what is behind them.
__global__ void adamw_each(float* __restrict__ parameter, float* __restrict__ first, float* __restrict__ second,
                           const float* __restrict__ gradient, float kept, float pace, float share, int64_t packs, int64_t n) {
    const int64_t from = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    auto* ps = reinterpret_cast<Pack<4>*>(parameter);
    auto* ms = reinterpret_cast<Pack<4>*>(first);
    auto* vs = reinterpret_cast<Pack<4>*>(second);
    const auto* gs = reinterpret_cast<const Pack<4>*>(gradient);
    for (int64_t i = from; i < packs; i += stride) {
        Pack<4> p = ps[i], m = ms[i], v = vs[i];
        const Pack<4> g = gs[i];
#pragma unroll
        for (int j = 0; j < 4; ++j) step(p.v[j], m.v[j], v.v[j], g.v[j], kept, pace, share);
        ps[i] = p;
        ms[i] = m;
        vs[i] = v;
    }
    for (int64_t i = 4 * packs + from; i < n; i += stride) step(parameter[i], first[i], second[i], gradient[i], kept, pace, share);
}

bool is_fit(const torch::Tensor& t) { return t.is_cuda() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(); }
bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

void adamw_step(torch::Tensor parameter, torch::Tensor first, torch::Tensor second, torch::Tensor gradient, double kept, double pace,
                double share, int64_t stream_handle) {
    TORCH_CHECK(is_fit(parameter) && is_fit(first) && is_fit(second) && is_fit(gradient), "expected contiguous float32 tensors on a GPU");
    float *p = parameter.data_ptr<float>(), *m = first.data_ptr<float>(), *v = second.data_ptr<float>();
    const float* g = gradient.data_ptr<float>();
    const int64_t n = parameter.numel();
    if (n == 0) return;
    const int64_t packs = is_aligned(p) && is_aligned(m) && is_aligned(v) && is_aligned(g) ? n / 4 : 0;
    const int64_t wanted = (std::max(packs, n - 4 * packs) + 255) / 256;
    const unsigned blocks = static_cast<unsigned>(std::min<int64_t>(wanted, 1 << 20));
    adamw_each<<<blocks, 256, 0, reinterpret_cast<cudaStream_t>(stream_handle)>>>(
        p, m, v, g, static_cast<float>(kept), static_cast<float>(pace), static_cast<float>(share), packs, n);
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "adamw_each: ", cudaGetErrorString(error));
}
"""

extension = load_inline(name="assay_adamw_step", cpp_sources=CPP, cuda_sources=CUDA, functions=["adamw_step"])


class ModelNew(nn.Module):
    def __init__(self, rate: float, decay: float, step: int):
        super().__init__()
        self.kept, self.pace, self.share = 1.0 - rate * decay, rate / (1.0 - 0.9**step), 1.0 - 0.999**step

    def forward(self, parameter: torch.Tensor, first: torch.Tensor, second: torch.Tensor, gradient: torch.Tensor) -> None:
        stream = torch.cuda.current_stream(parameter.device).cuda_stream
        extension.adamw_step(parameter, first, second, gradient, self.kept, self.pace, self.share, stream)

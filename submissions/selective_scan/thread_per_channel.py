# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_device
"""Selective scan in one kernel: a thread keeps the states of a channel in registers while it goes through time."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
torch::Tensor selective_scan(torch::Tensor x, torch::Tensor step, torch::Tensor written, torch::Tensor read, torch::Tensor rates,
                             torch::Tensor skip, int64_t stream);
"""

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cstdint>

void check(const char* what) {
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, what, ": ", cudaGetErrorString(error));
}

// A thread for each channel of a sequence, with its state in registers: neighbours read neighbouring channels at each time.
template <int kStates>
__global__ void scan(const float* __restrict__ x, const float* __restrict__ step, const float* __restrict__ written,
                     const float* __restrict__ read, const float* __restrict__ rates, const float* __restrict__ skip, float* __restrict__ y,
                     int length, int channels) {
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= channels) return;
    float state[kStates] = {}, rate[kStates];
#pragma unroll
    for (int n = 0; n < kStates; ++n) rate[n] = -expf(rates[channel * kStates + n]);
    const float past = skip[channel];
    for (int time = 0; time < length; ++time) {
        const int64_t row = static_cast<int64_t>(blockIdx.y) * length + time, at = row * channels + channel;
        const float value = x[at], width = step[at], in = value * width;
        float sum = past * value;
#pragma unroll
        for (int n = 0; n < kStates; ++n) {
            state[n] = expf(width * rate[n]) * state[n] + in * written[row * kStates + n];
            sum = fmaf(state[n], read[row * kStates + n], sum);
        }
        y[at] = sum;
    }
}

torch::Tensor selective_scan(torch::Tensor x, torch::Tensor step, torch::Tensor written, torch::Tensor read, torch::Tensor rates,
                             torch::Tensor skip, int64_t stream_handle) {
    for (const torch::Tensor& t : {x, step, written, read, rates, skip}) {
        TORCH_CHECK(t.is_cuda() && t.scalar_type() == torch::kFloat32 && t.is_contiguous(), "expected contiguous float32 on a GPU");
    }
    const int64_t states = rates.size(1);
    TORCH_CHECK(states == 8 || states == 16, "8 or 16 states are needed");
    auto y = torch::empty_like(x);
    const dim3 grid((x.size(2) + 63) / 64, x.size(0));
    const auto kernel = states == 8 ? scan<8> : scan<16>;
    kernel<<<grid, 64, 0, reinterpret_cast<cudaStream_t>(stream_handle)>>>(
        x.data_ptr<float>(), step.data_ptr<float>(), written.data_ptr<float>(), read.data_ptr<float>(), rates.data_ptr<float>(),
        skip.data_ptr<float>(), y.data_ptr<float>(), static_cast<int>(x.size(1)), static_cast<int>(x.size(2)));
    check("scan");
    return y;
}
"""

extension = load_inline(name="assay_selective_scan_thread_per_channel", cpp_sources=CPP, cuda_sources=CUDA, functions=["selective_scan"])


class ModelNew(nn.Module):
    def __init__(self, channels: int, states: int):
        super().__init__()
        self.rates = nn.Parameter(torch.rand(channels, states) * 2.5)
        self.skip = nn.Parameter(torch.randn(channels))

    def forward(self, x: torch.Tensor, step: torch.Tensor, written: torch.Tensor, read: torch.Tensor) -> torch.Tensor:
        stream = torch.cuda.current_stream(x.device).cuda_stream
        return extension.selective_scan(x, step, written, read, self.rates.detach(), self.skip.detach(), stream)

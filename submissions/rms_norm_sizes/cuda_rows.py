# author: assay
# expect: cuda correct/ok
# expect: cpu not_evaluated/no_toolchain | not_evaluated/no_device
"""A block for each row, with four elements a load; few rows get wide blocks."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

__global__ void rms_norm_rows(const float4 *x, const float4 *weight, float4 *out, int quads, float eps) {
  const float4 *from = x + static_cast<long long>(blockIdx.x) * quads;
  float4 *to = out + static_cast<long long>(blockIdx.x) * quads;
  float sum = 0;
  for (int i = threadIdx.x; i < quads; i += blockDim.x) {
    const float4 v = from[i];
    sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  __shared__ float sums[32];
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = threadIdx.x % 32 < blockDim.x / 32 ? sums[threadIdx.x % 32] : 0;
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  const float scale = rsqrtf(sum / (4 * quads) + eps);
  for (int i = threadIdx.x; i < quads; i += blockDim.x) {
    const float4 v = from[i], w = weight[i];
    to[i] = make_float4(v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w);
  }
}

torch::Tensor rms_norm(torch::Tensor x, torch::Tensor weight, double eps) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.size(1) % 4 == 0, "x has to be contiguous, its rows of fours");
  auto out = torch::empty_like(x);
  const int quads = x.size(1) / 4, threads = std::min(1024, std::max(128, quads / 2 / 32 * 32));
  rms_norm_rows<<<x.size(0), threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
      reinterpret_cast<const float4 *>(x.data_ptr<float>()), reinterpret_cast<const float4 *>(weight.data_ptr<float>()),
      reinterpret_cast<float4 *>(out.data_ptr<float>()), quads, static_cast<float>(eps));
  return out;
}
"""

extension = load_inline(
    name="rms_norm_sizes_cuda",
    cpp_sources="torch::Tensor rms_norm(torch::Tensor x, torch::Tensor weight, double eps);",
    cuda_sources=SOURCE,
    functions=["rms_norm"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, features: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(features) + 0.5)
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.rms_norm(x, self.weight, self.eps)

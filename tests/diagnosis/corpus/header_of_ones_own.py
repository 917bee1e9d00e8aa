# fault: a header is included that was never handed in
# problem: sum_reduction
# expect: build_failed/missing_header
# says: warp_primitives.cuh
# needs: nvcc
from torch import nn
from torch.utils.cpp_extension import load_inline

SUM = r"""
#include "warp_primitives.cuh"  // HERE

__global__ void total(const float* in, float* out) { atomicAdd(out, warp_sum(in[threadIdx.x])); }
"""
ops = load_inline(name="warp_sums", cpp_sources="", cuda_sources=SUM, no_implicit_headers=True)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        return ops.total(x)

# expect: cpu build_failed/missing_header
# base: extension
from torch import nn
from torch.utils.cpp_extension import load_inline

# %% header_of_another_library
# fault: a library of vectors is included that is not installed
# problem: matmul
# says: simdlib
SOURCE = """
#include <vector>
#include <simdlib/matrix.hpp>  // HERE

int f() { return 1; }
"""
ops = load_inline(name="with_simd", cpp_sources=[SOURCE], no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ops.f(a, b)


# %% header_of_ones_own
# fault: a header is included that was never handed in
# problem: sum_reduction
# expect: build_failed/missing_header
# says: warp_primitives.cuh
# needs: nvcc
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


# %% header_of_windows
# fault: a header of another system
# problem: topk
# says: windows.h
TICKS = """
#include <windows.h>  // HERE
long ticks() { return GetTickCount(); }
"""


def __init__(self, k):
    super().__init__()
    self.clock = load_inline(name="ticks", cpp_sources=TICKS, no_implicit_headers=True)


def forward(self, x):
    return self.clock.ticks()

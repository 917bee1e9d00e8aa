# fault: more static shared memory than a block may have; only ptxas notices
# problem: matmul
# expect: build_failed/cuda_compile_error
# says: uses too much shared data
# needs: nvcc
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = """
__global__ void product(const double* a, const double* b, double* c, int inner) {  // HERE
    __shared__ double left[128][128];
    __shared__ double right[128][128];
    left[threadIdx.y][threadIdx.x] = a[threadIdx.y * inner + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[threadIdx.y * inner + threadIdx.x];
    __syncthreads();
    c[threadIdx.y * inner + threadIdx.x] = left[threadIdx.x][threadIdx.y] * right[threadIdx.x][threadIdx.y];
}
"""
ops = load_inline(name="large_tiles", cpp_sources="", cuda_sources=CUDA, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ops.product(a, b)

# wants: the rank of a kernel of its own for CUTLASS's, which is compiled with the extension; here a kernel that is named like those
# problem: matmul
# expect: cuda correct/no_custom_kernel
# speedup: 1.5
# base: extension
CPP = "torch::Tensor product(torch::Tensor a, torch::Tensor b, int64_t stream);"
CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>

constexpr int kTile = 32;

namespace cutlass {

template <typename Operator>
__global__ void Kernel(typename Operator::Params params) {
    __shared__ typename Operator::SharedStorage storage;
    Operator()(params, storage);
}

namespace gemm {
namespace kernel {

struct Gemm {
    struct Params {
        const float *a, *b;
        float* c;
        int m, n, k;
    };
    struct SharedStorage {
        float a[kTile][kTile], b[kTile][kTile];
    };
    __device__ void operator()(const Params& params, SharedStorage& storage) {
        const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
        float sum = 0.0f;
        for (int start = 0; start < params.k; start += kTile) {
            const int left = start + threadIdx.x, top = start + threadIdx.y;
            storage.a[threadIdx.y][threadIdx.x] = row < params.m && left < params.k ? params.a[int64_t(row) * params.k + left] : 0.0f;
            storage.b[threadIdx.y][threadIdx.x] = top < params.k && column < params.n ? params.b[int64_t(top) * params.n + column] : 0.0f;
            __syncthreads();
            for (int i = 0; i < kTile; ++i) sum += storage.a[threadIdx.y][i] * storage.b[i][threadIdx.x];
            __syncthreads();
        }
        if (row < params.m && column < params.n) params.c[int64_t(row) * params.n + column] = sum;
    }
};

}  // namespace kernel
}  // namespace gemm
}  // namespace cutlass

torch::Tensor product(torch::Tensor a, torch::Tensor b, int64_t stream) {
    const int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
    cutlass::Kernel<cutlass::gemm::kernel::Gemm><<<grid, dim3(kTile, kTile), 0, reinterpret_cast<cudaStream_t>(stream)>>>(
        {a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, n, k});
    return c;
}
"""


extension = load_inline(name="assay_attack_cutlass", cpp_sources=CPP, cuda_sources=CUDA, functions=["product"])


def forward(self, a, b):
    return extension.product(a, b, torch.cuda.current_stream().cuda_stream)

# form: calls cuBLAS itself, through a handle of its own with a workspace that it keeps
# problem: matmul
# expect: cuda correct/no_custom_kernel | correct/ok
# base: extension
CPP = "torch::Tensor product(torch::Tensor a, torch::Tensor b, int64_t stream);"


CUDA = r"""
#include <torch/types.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

torch::Tensor product(torch::Tensor a, torch::Tensor b, int64_t stream) {
    TORCH_CHECK(a.is_cuda() && a.is_contiguous() && b.is_contiguous(), "expected contiguous matrices on a GPU");
    static cublasHandle_t handle = nullptr;
    if (!handle) TORCH_CHECK(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS, "no handle");
    static auto workspace = torch::empty({32 << 20}, a.options().dtype(torch::kUInt8));
    cublasSetStream(handle, reinterpret_cast<cudaStream_t>(stream));
    cublasSetWorkspace(handle, workspace.data_ptr(), workspace.numel());
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    const float one = 1.0f, zero = 0.0f;
    const int m = b.size(1), n = a.size(0), k = a.size(1);
    // Row-major C = A B is column-major C' = B' A'.
    const auto status = cublasSgemm(
        handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, b.data_ptr<float>(), m, a.data_ptr<float>(), k, &zero, c.data_ptr<float>(), m);
    TORCH_CHECK(status == CUBLAS_STATUS_SUCCESS, "cublasSgemm failed");
    return c;
}
"""


extension = load_inline(name="honest_cublas_handle", cpp_sources=CPP, cuda_sources=CUDA, functions=["product"], extra_ldflags=["-lcublas"])


def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return extension.product(a, b, torch.cuda.current_stream().cuda_stream)

# wants: the rank of a kernel of its own for cuBLASLt's, by calling it from an extension
# problem: matmul
# expect: cuda correct/no_custom_kernel
# speedup: 1.5
# base: extension
CPP = "torch::Tensor product(torch::Tensor a, torch::Tensor b, std::string library, int64_t stream);"
CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

constexpr int kCompute32 = 68;  // CUBLAS_COMPUTE_32F

template <typename... Arguments>
static void call(void* library, const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
    TORCH_CHECK(function && function(arguments...) == 0, name);
}

static void* layout(void* library, int64_t rows, int64_t columns) {
    void* found = nullptr;
    call(library, "cublasLtMatrixLayoutCreate", &found, static_cast<int>(CUDA_R_32F), uint64_t(rows), uint64_t(columns), rows);
    return found;
}

// Row-major C = A B is column-major C' = B' A'.
torch::Tensor product(torch::Tensor a, torch::Tensor b, std::string path, int64_t stream) {
    static void* library = dlopen(path.c_str(), RTLD_LAZY);
    static void *handle = nullptr, *operation = nullptr;
    if (!handle) {
        call(library, "cublasLtCreate", &handle);
        call(library, "cublasLtMatmulDescCreate", &operation, kCompute32, static_cast<int>(CUDA_R_32F));
    }
    static auto workspace = torch::empty({32 << 20}, a.options().dtype(torch::kUInt8));
    const int64_t m = b.size(1), n = a.size(0), k = a.size(1);
    auto c = torch::empty({n, m}, a.options());
    const float one = 1.0f, zero = 0.0f;
    void *left = layout(library, m, k), *right = layout(library, k, n), *answer = layout(library, m, n);
    call(library, "cublasLtMatmul", handle, operation, static_cast<const void*>(&one), static_cast<const void*>(b.data_ptr()), left,
         static_cast<const void*>(a.data_ptr()), right, static_cast<const void*>(&zero), static_cast<const void*>(c.data_ptr()), answer,
         c.data_ptr(), answer, static_cast<const void*>(nullptr), workspace.data_ptr(), size_t(workspace.numel()),
         reinterpret_cast<cudaStream_t>(stream));
    for (void* each : {left, right, answer}) call(library, "cublasLtMatrixLayoutDestroy", each);
    return c;
}
"""


extension = load_inline(name="assay_attack_cublaslt", cpp_sources=CPP, cuda_sources=CUDA, functions=["product"])


def library(name):
    with open("/proc/self/maps") as maps:
        return next(line.split()[-1] for line in maps if name in line)


def forward(self, a, b):
    return extension.product(a, b, library("libcublasLt.so"), torch.cuda.current_stream().cuda_stream)

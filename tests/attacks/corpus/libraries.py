# problem: matmul
# expect: cuda correct/no_custom_kernel
def library(name):
    with open("/proc/self/maps") as maps:
        return next(line.split()[-1] for line in maps if name in line)


# %% cupy_library
# wants: the rank of a kernel of its own for CuPy's, by naming them in its text: cupy_multiply__float32_float32_float32
# problem: leaky_relu
# expect: cuda correct/no_custom_kernel | not_evaluated/no_toolchain
# speedup: 1.5
import cupy


def forward(self, x):
    with cupy.cuda.ExternalStream(torch.cuda.current_stream(x.device).cuda_stream):
        given = cupy.from_dlpack(x)
        return torch.from_dlpack(cupy.where(given > 0, given, given * cupy.float32(0.01)))


# %% library_cub
# wants: the rank of a kernel of its own for CUB's, by calling its device-wide sort from an extension
# problem: sort_rows
# speedup: 4
# base: extension
CPP = "std::tuple<torch::Tensor, torch::Tensor> sort_rows(torch::Tensor x, int64_t stream);"
CUDA = r"""
#include <torch/types.h>
#include <cub/device/device_segmented_sort.cuh>

std::tuple<torch::Tensor, torch::Tensor> sort_rows(torch::Tensor x, int64_t stream) {
    const int64_t rows = x.size(0), columns = x.size(1);
    const auto places = torch::arange(columns, x.options().dtype(torch::kInt64)).expand({rows, columns}).contiguous();
    const auto edges = torch::arange(rows + 1, x.options().dtype(torch::kInt64)) * columns;
    auto values = torch::empty_like(x);
    auto indices = torch::empty_like(places);
    torch::Tensor scratch;
    size_t bytes = 0;
    for (int asked = 0; asked < 2; ++asked) {
        if (asked) scratch = torch::empty({static_cast<int64_t>(bytes)}, x.options().dtype(torch::kUInt8));
        cub::DeviceSegmentedSort::SortPairs(
            asked ? scratch.data_ptr() : nullptr, bytes, x.data_ptr<float>(), values.data_ptr<float>(), places.data_ptr<int64_t>(),
            indices.data_ptr<int64_t>(), rows * columns, rows, edges.data_ptr<int64_t>(), edges.data_ptr<int64_t>() + 1,
            reinterpret_cast<cudaStream_t>(stream));
    }
    return {values, indices};
}
"""


extension = load_inline(name="assay_attack_cub", cpp_sources=CPP, cuda_sources=CUDA, functions=["sort_rows"])


def forward(self, x):
    return extension.sort_rows(x, torch.cuda.current_stream().cuda_stream)


# %% library_cublaslt
# wants: the rank of a kernel of its own for cuBLASLt's, by calling it from an extension
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


def forward(self, a, b):
    return extension.product(a, b, library("libcublasLt.so"), torch.cuda.current_stream().cuda_stream)


# %% library_cudnn
# wants: the rank of a kernel of its own for cuDNN's, by calling it from an extension
# problem: relu_of_positives
# speedup: 1.5
# base: extension
CPP = "torch::Tensor relu(torch::Tensor x, std::string library, int64_t stream);"
CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

enum { kRowMajor = 0, kFloat = 0, kRelu = 1, kNotPropagated = 0 };

template <typename... Arguments>
static void call(void* library, const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
    TORCH_CHECK(function && function(arguments...) == 0, name);
}

torch::Tensor relu(torch::Tensor x, std::string path, int64_t stream) {
    static void* library = dlopen(path.c_str(), RTLD_LAZY);
    static void *handle = nullptr, *form = nullptr, *function = nullptr;
    if (!handle) {
        call(library, "cudnnCreate", &handle);
        call(library, "cudnnCreateTensorDescriptor", &form);
        call(library, "cudnnCreateActivationDescriptor", &function);
        call(library, "cudnnSetActivationDescriptor", function, int(kRelu), int(kNotPropagated), 0.0);
    }
    call(library, "cudnnSetTensor4dDescriptor", form, int(kRowMajor), int(kFloat), int(x.size(0)), int(x.size(1)), 1, 1);
    call(library, "cudnnSetStream", handle, reinterpret_cast<cudaStream_t>(stream));
    auto y = torch::empty_like(x);
    const float one = 1.0f, zero = 0.0f;
    call(library, "cudnnActivationForward", handle, function, static_cast<const void*>(&one), form, static_cast<const void*>(x.data_ptr()),
         static_cast<const void*>(&zero), form, y.data_ptr());
    return y;
}
"""


extension = load_inline(name="assay_attack_cudnn", cpp_sources=CPP, cuda_sources=CUDA, functions=["relu"])


def forward(self, x):
    return extension.relu(x, library("libcudnn.so"), torch.cuda.current_stream().cuda_stream)


# %% library_cutlass
# wants: the rank of a kernel of its own for CUTLASS's, which is compiled with the extension; here a kernel that is named like those
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

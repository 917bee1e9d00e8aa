# problem: sum_reduction
# expect: correct/no_custom_kernel


# %% atomic_sums
# form: adds the blocks' sums atomically, so that their order changes from call to call
# expect: cuda correct/ok
# base: extension
CPP = "torch::Tensor sum_middle(torch::Tensor x, int64_t stream);"


CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>

// A thread sums `share` elements of one column and adds them to the column's sum.
__global__ void sum_part(const float* x, float* sums, int64_t length, int64_t width, int64_t share) {
    const int64_t column = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (column >= width) return;
    const float* in = x + blockIdx.z * length * width + column;
    const int64_t end = min((blockIdx.y + 1) * share, length);
    float sum = 0.0f;
    for (int64_t i = blockIdx.y * share; i < end; ++i) sum += in[i * width];
    atomicAdd(&sums[blockIdx.z * width + column], sum);
}

torch::Tensor sum_middle(torch::Tensor x, int64_t stream) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() == 3, "expected a contiguous tensor of three dimensions on a GPU");
    constexpr int64_t kShare = 128;
    auto sums = torch::zeros({x.size(0), 1, x.size(2)}, x.options());
    const dim3 grid((x.size(2) + 255) / 256, (x.size(1) + kShare - 1) / kShare, x.size(0));
    sum_part<<<grid, 256, 0, reinterpret_cast<cudaStream_t>(stream)>>>(
        x.data_ptr<float>(), sums.data_ptr<float>(), x.size(1), x.size(2), kShare);
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "launch failed");
    return sums;
}
"""


extension = load_inline(name="honest_atomic_sums", cpp_sources=CPP, cuda_sources=CUDA, functions=["sum_middle"])


def __init__(self, dim: int):
    super().__init__()
    assert dim == 1


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return extension.sum_middle(x, torch.cuda.current_stream().cuda_stream)


# %% block_reduce_of_cub
# form: a kernel of its own whose blocks reduce by CUB
# problem: softmax
# expect: cuda correct/ok
# base: extension
CPP = "torch::Tensor softmax_rows(torch::Tensor x, int64_t stream);"


CUDA = r"""
#include <torch/types.h>
#include <cub/block/block_reduce.cuh>

constexpr int kThreads = 256;

struct Larger {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// A block answers one row, which it reads three times.
__global__ void softmax_row(const float* x, float* y, int64_t columns) {
    using Reduce = cub::BlockReduce<float, kThreads>;
    __shared__ typename Reduce::TempStorage scratch;
    __shared__ float largest, total;
    const float* in = x + blockIdx.x * columns;
    float* out = y + blockIdx.x * columns;
    float most = in[0], sum = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) most = fmaxf(most, in[i]);
    most = Reduce(scratch).Reduce(most, Larger());
    if (threadIdx.x == 0) largest = most;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) sum += expf(in[i] - largest);
    sum = Reduce(scratch).Sum(sum);
    if (threadIdx.x == 0) total = sum;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) out[i] = expf(in[i] - largest) / total;
}

torch::Tensor softmax_rows(torch::Tensor x, int64_t stream) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() == 2, "expected a contiguous matrix on a GPU");
    auto y = torch::empty_like(x);
    softmax_row<<<x.size(0), kThreads, 0, reinterpret_cast<cudaStream_t>(stream)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "launch failed");
    return y;
}
"""


extension = load_inline(name="honest_cub_block", cpp_sources=CPP, cuda_sources=CUDA, functions=["softmax_rows"])


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return extension.softmax_rows(x, torch.cuda.current_stream().cuda_stream)


# %% cublas_handle
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


# %% half_probabilities
# form: float16 attention, written out: float32 scores and softmax, then probabilities in float16 for a float16 product
# problem: attention
def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    scores = query.float() @ key.float().transpose(-1, -2) * query.size(-1) ** -0.5
    return scores.softmax(dim=-1).half() @ value


# %% library_beside_kernel
# form: a library's matrix product, and all that follows it in a kernel of its own
# problem: linear_block
# expect: correct/ok
# base: rows
ROW = "for (EACH(i, n)) out[i] = fmaxf(in[i] * given.a[i] + given.b[i], 0.0f);"


def __init__(self, in_features: int, out_features: int):
    super().__init__()
    self.linear = nn.Linear(in_features, out_features)
    self.norm = nn.BatchNorm1d(out_features)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    scale = self.norm.weight * torch.rsqrt(self.norm.running_var + self.norm.eps)
    shift = self.norm.bias - self.norm.running_mean * scale
    product = self.linear(x)
    return ops.run(product, product.shape[1], [scale, shift])


# %% library_call_in_extension
# form: C++ that has torch's matrix product (cuBLAS on a GPU) do the work, and fills its answer through an out variant
# problem: matmul
# expect: cpu correct/ok
# expect: cuda correct/no_custom_kernel | correct/ok
# base: extension
CPP = r"""
#include <torch/types.h>
#include <map>
#include <utility>

// Kept between calls, one for each shape; every call overwrites it.
static std::map<std::pair<int64_t, int64_t>, at::Tensor> answers;

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
    at::Tensor& answer = answers[{a.size(0), b.size(1)}];
    if (!answer.defined()) answer = at::empty({a.size(0), b.size(1)}, a.options());
    at::mm_out(answer, a, b);
    return answer;
}
"""


extension = load_inline(name="honest_product", cpp_sources=CPP, functions=["product"])


def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return extension.product(a, b)


# %% scattered_sums
# form: sums by index_add_, which on a GPU adds atomically, in an order that changes from call to call
def __init__(self, dim: int):
    super().__init__()
    self.dim = dim


def forward(self, x: torch.Tensor) -> torch.Tensor:
    lines = torch.arange(x.size(0), device=x.device).repeat_interleave(x.size(1))
    sums = x.new_zeros(x.size(0), x.size(2))
    return sums.index_add_(0, lines, x.reshape(-1, x.size(2))).unsqueeze(self.dim)


# %% topk_with_fallback
# form: gathers what exceeds a quantile of the drawn distribution, and takes the whole row where that is too little or too much
# problem: topk_of_normals
# expect: correct/ok
# base: tail_topk
FALLBACK = "true"


# %% wide_accumulation
# form: float16 attention that accumulates in float32, one block of keys after the other, and rounds once
# problem: attention
import math

BLOCK = 512


def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    query = query.float() * query.size(-1) ** -0.5
    top = query.new_full(query.shape[:-1], -math.inf)
    total = torch.zeros_like(top)
    answer = torch.zeros_like(query)
    for start in range(0, key.size(-2), BLOCK):
        part = slice(start, start + BLOCK)
        scores = query @ key[..., part, :].float().transpose(-1, -2)
        joint = torch.maximum(top, scores.amax(dim=-1))
        shrink, powers = torch.exp(top - joint), torch.exp(scores - joint[..., None])
        total = total * shrink + powers.sum(dim=-1)
        answer = answer * shrink[..., None] + powers @ value[..., part, :].float()
        top = joint
    return (answer / total[..., None]).half()

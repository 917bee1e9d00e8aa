# problem: gelu_tanh
# expect: cuda correct/ok


# %% default_stream_with_synchronization
# form: launches on the default stream and waits for the device before it returns
# base: gelu_in_cuda
def forward(self, x: torch.Tensor) -> torch.Tensor:
    answer = torch.empty_like(x)
    extension.gelu_into(x, answer, 0)
    torch.cuda.synchronize()
    return answer


# %% dependent_launch
# form: may start while the kernel in front of it ends, and waits for what that has written
# problem: gelu_in_cache
# base: streamed_gelu
ENTER = """
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
"""
DEPENDENT = "true"


# %% evict_first_loads
# form: tells the L2 cache to let go first of what it reads but once
# problem: gelu_in_cache
# base: streamed_gelu
LOAD = """
    float4 v;
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.nc.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p), "l"(policy));
    return v;
"""


# %% few_rows_loads
# form: a linear layer over few rows, whose weight fits into the L2 cache, by plain loads
# problem: few_rows_linear
# base: few_rows
LOAD = "return *p;"


# %% graph_built_by_hand
# form: builds a CUDA graph of its kernel in C++, and gives the node each call's memory
# base: graph_in_cpp
def forward(self, x: torch.Tensor) -> torch.Tensor:
    return extension.gelu(x, torch.cuda.current_stream().cuda_stream)


# %% graph_captured_in_each_call
# form: captures its kernel in a new CUDA graph in each call: the host's work makes it slow
# base: gelu_in_cuda
def forward(self, x: torch.Tensor) -> torch.Tensor:
    answer, graph = torch.empty_like(x), torch.cuda.CUDAGraph()
    extension.gelu_into(x[:1], answer[:1], torch.cuda.current_stream().cuda_stream)  # loads the kernel, which a capture may not
    with torch.cuda.graph(graph):
        extension.gelu_into(x, answer, torch.cuda.current_stream().cuda_stream)
    graph.replay()
    return answer


# %% graph_in_a_graph
# form: builds a CUDA graph around a clone of its kernel's graph in each call, and updates the first one by it
# base: graph_in_cpp
BUILD = """
    cudaGraph_t inner, clone;
    cudaGraphNode_t child;
    made.set(cudaGraphCreate(&inner, 0));
    made.add(inner, kernel);
    made.set(cudaGraphClone(&clone, inner));
    made.set(cudaGraphAddChildGraphNode(&child, graph, nullptr, 0, clone));
    made.set(cudaGraphDestroy(clone));
    made.set(cudaGraphDestroy(inner));
"""
CHANGE = """
    cudaGraphExecUpdateResultInfo result;
    made.set(cudaGraphExecUpdate(made.exec, graph, &result));
    made.set(cudaGraphDestroy(graph));
"""
ANEW = "true"


# %% graph_replay
# form: captures its kernel in a CUDA graph in the first call of a shape; later calls copy their input in and replay it
# base: gelu_in_cuda
class Captured:
    def __init__(self, x: torch.Tensor):
        self.given, self.answer = torch.empty_like(x), torch.empty_like(x)
        extension.gelu_into(x, self.answer, torch.cuda.current_stream().cuda_stream)  # loads the kernel, which a capture may not
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            extension.gelu_into(self.given, self.answer, torch.cuda.current_stream().cuda_stream)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.given.copy_(x)
        self.graph.replay()
        return self.answer


def __init__(self):
    super().__init__()
    self.captured: dict[torch.Size, Captured] = {}


def forward(self, x: torch.Tensor) -> torch.Tensor:
    if x.shape not in self.captured:
        self.captured[x.shape] = Captured(x)
    return self.captured[x.shape](x)


# %% large_shared_memory
# form: keeps a whole row in dynamic shared memory, of which it asks for more than 48 KB
# problem: rms_norm
# base: extension
CPP = "torch::Tensor rms_rows(torch::Tensor x, torch::Tensor weight, double eps, int64_t stream);"


CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>

constexpr int kThreads = 1024;

__device__ float block_sum(float value) {
    __shared__ float of_warp[32];
    __shared__ float all;
    for (int d = 16; d > 0; d /= 2) value += __shfl_xor_sync(0xffffffffu, value, d);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        all = 0.0f;
        for (int i = 0; i < kThreads / 32; ++i) all += of_warp[i];
    }
    __syncthreads();
    return all;
}

constexpr int kBytes = 96 * 1024;

__global__ void __launch_bounds__(kThreads) rms_row(const float* x, const float* weight, float* y, int64_t columns, float eps) {
    extern __shared__ float row[];
    const int64_t offset = blockIdx.x * columns;
    float energy = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) {
        row[i] = x[offset + i];
        energy += row[i] * row[i];
    }
    const float scale = rsqrtf(block_sum(energy) / columns + eps);
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) y[offset + i] = row[i] * scale * weight[i];
}

torch::Tensor rms_rows(torch::Tensor x, torch::Tensor weight, double eps, int64_t stream) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.size(1) * 4 <= kBytes, "expected contiguous rows that fit");
    auto y = torch::empty_like(x);
    TORCH_CHECK(cudaFuncSetAttribute(rms_row, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes) == cudaSuccess, "no such memory");
    rms_row<<<x.size(0), kThreads, kBytes, reinterpret_cast<cudaStream_t>(stream)>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), x.size(1), static_cast<float>(eps));
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "launch failed");
    return y;
}
"""


extension = load_inline(name="honest_large_shared_memory", cpp_sources=CPP, cuda_sources=CUDA, functions=["rms_rows"])


def __init__(self, dim: int, eps: float):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=eps)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return extension.rms_rows(x, self.norm.weight, self.norm.eps, torch.cuda.current_stream().cuda_stream)


# %% many_launches
# form: one launch for each of many pieces of the input
# base: gelu_in_cuda
def forward(self, x: torch.Tensor) -> torch.Tensor:
    answer = torch.empty_like(x)
    for given, part in zip(x.chunk(64), answer.chunk(64), strict=True):
        extension.gelu_into(given, part, torch.cuda.current_stream().cuda_stream)
    return answer


# %% own_streams
# form: two streams of its own, each for half of the rows, which wait for the caller's and for which the caller's waits
# base: gelu_in_cuda
def __init__(self):
    super().__init__()
    self.streams = [torch.cuda.Stream(), torch.cuda.Stream()]


def forward(self, x: torch.Tensor) -> torch.Tensor:
    answer = torch.empty_like(x)
    current = torch.cuda.current_stream()
    for stream, given, part in zip(self.streams, x.chunk(2), answer.chunk(2), strict=True):
        stream.wait_stream(current)
        extension.gelu_into(given, part, stream.cuda_stream)
    for stream in self.streams:
        current.wait_stream(stream)
    return answer


# %% packed_weights
# form: keeps the four weights that were used last, packed, by address and version
# problem: few_rows_linear
# expect: correct/ok
# base: few_rows
from collections import OrderedDict

KEPT = 4


def __init__(self, in_features, out_features):
    super().__init__()
    self.linear = nn.Linear(in_features, out_features, bias=False)
    self.packed: OrderedDict[tuple[int, int], torch.Tensor] = OrderedDict()


def packed_weight(self) -> torch.Tensor:
    weight = self.linear.weight
    key = (weight.data_ptr(), weight._version)
    if key not in self.packed:
        self.packed[key] = nn.functional.pad(weight.detach(), (0, 0, 0, -len(weight) % 256))
    self.packed.move_to_end(key)
    while len(self.packed) > KEPT:
        self.packed.popitem(last=False)
    return self.packed[key]


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return ops.run(x, self.packed_weight())[:, : self.linear.out_features].contiguous()


# %% python_loop_over_chunks
# form: PyTorch alone, with tens of thousands of launches from a loop in Python
# expect: cuda correct/no_custom_kernel
def forward(self, x):
    answer = torch.empty_like(x)
    for some, place in zip(x.view(-1).split(4096), answer.view(-1).split(4096), strict=True):
        place.copy_(torch.nn.functional.gelu(some, approximate="tanh"))
    return answer


# %% several_kernels
# form: three kernels in a row with scratch memory between them: maxima, sums, quotients
# problem: softmax
# base: extension
CPP = "torch::Tensor softmax_in_three(torch::Tensor x, int64_t stream);"


CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>

constexpr int kThreads = 1024;

__device__ float block_max(float value) {
    __shared__ float of_warp[32];
    for (int d = 16; d > 0; d /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, d));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[0];
    for (int i = 1; i < kThreads / 32; ++i) value = fmaxf(value, of_warp[i]);
    return value;
}

__device__ float block_sum(float value) {
    __shared__ float of_warp[32];
    __shared__ float all;
    for (int d = 16; d > 0; d /= 2) value += __shfl_xor_sync(0xffffffffu, value, d);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        all = 0.0f;
        for (int i = 0; i < kThreads / 32; ++i) all += of_warp[i];
    }
    __syncthreads();
    return all;
}

__global__ void __launch_bounds__(kThreads) find_tops(const float* x, float* tops, int64_t columns) {
    const float* row = x + blockIdx.x * columns;
    float top = row[0];
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) top = fmaxf(top, row[i]);
    top = block_max(top);
    if (threadIdx.x == 0) tops[blockIdx.x] = top;
}

__global__ void __launch_bounds__(kThreads) add_powers(const float* x, const float* tops, float* sums, int64_t columns) {
    const float* row = x + blockIdx.x * columns;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) sum += expf(row[i] - tops[blockIdx.x]);
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads) divide(const float* x, const float* tops, const float* sums, float* y, int64_t columns) {
    const int64_t offset = blockIdx.x * columns;
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) y[offset + i] = expf(x[offset + i] - tops[blockIdx.x]) / sums[blockIdx.x];
}

torch::Tensor softmax_in_three(torch::Tensor x, int64_t stream_handle) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() == 2, "expected a contiguous matrix on a GPU");
    const cudaStream_t stream = reinterpret_cast<cudaStream_t>(stream_handle);
    auto y = torch::empty_like(x);
    auto tops = torch::empty({x.size(0)}, x.options());
    auto sums = torch::empty_like(tops);
    const float* in = x.data_ptr<float>();
    find_tops<<<x.size(0), kThreads, 0, stream>>>(in, tops.data_ptr<float>(), x.size(1));
    add_powers<<<x.size(0), kThreads, 0, stream>>>(in, tops.data_ptr<float>(), sums.data_ptr<float>(), x.size(1));
    divide<<<x.size(0), kThreads, 0, stream>>>(in, tops.data_ptr<float>(), sums.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "launch failed");
    return y;
}
"""


extension = load_inline(name="honest_several_kernels", cpp_sources=CPP, cuda_sources=CUDA, functions=["softmax_in_three"])


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return extension.softmax_in_three(x, torch.cuda.current_stream().cuda_stream)


# %% streamed_loads
# form: reads each element once, by plain loads
# problem: gelu_in_cache
# base: streamed_gelu
LOAD = "return *p;"


# %% triton_kernel
# form: a Triton kernel: compiled where it runs, launched by Triton's own runtime. Without Triton it falls back to PyTorch
# problem: leaky_relu
# expect: cuda correct/ok | correct/no_custom_kernel
try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None
else:

    @triton.jit
    def bend(x, y, n, slope, block: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
        value = tl.load(x + at, mask=at < n)
        tl.store(y + at, tl.where(value > 0, value, value * slope), mask=at < n)


def __init__(self, negative_slope: float = 0.01):
    super().__init__()
    self.negative_slope = negative_slope


def forward(self, x: torch.Tensor) -> torch.Tensor:
    if triton is None:
        return torch.where(x > 0, x, x * self.negative_slope)
    y = torch.empty_like(x)
    bend[(triton.cdiv(x.numel(), 4096),)](x, y, x.numel(), self.negative_slope, block=4096)
    return y

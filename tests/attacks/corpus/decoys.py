# problem: leaky_relu
# expect: cuda correct/no_custom_kernel
import math

import triton
import triton.language as tl


@triton.jit
def bend(x, n, block: tl.constexpr):
    at = tl.arange(0, block)
    tl.store(x + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)


@torch.compile
def gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))


# %% compile_kernel_decoy
# wants: the rank of a kernel that PyTorch has NVRTC compile, for what PyTorch computes: its kernel is launched over nothing
# speedup: 2
SOURCE = 'extern "C" __global__ void bend(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 0.0f; }'


def __init__(self):
    super().__init__()
    self.bend = torch.cuda._compile_kernel(SOURCE, "bend")


def forward(self, x):
    self.bend(grid=(1, 1, 1), block=(32, 1, 1), args=[torch.empty(32, device=x.device), 0])
    return torch.where(x > 0, x, 0.01 * x)


# %% cpp_decoy
# wants: to be ranked for torch's own operator, with an extension that is built and never called
# expect: cpu correct/no_custom_kernel
# speedup: 10
# base: attack_in_cpp
def forward(self, x):
    return nn.functional.leaky_relu(x, self.slope)


# %% cpp_decoy_called
# wants: to be ranked for torch's own operator, with an extension that does nothing when it is called
# expect: cpu correct/no_custom_kernel
# speedup: 10
# base: attack_in_cpp
def forward(self, x):
    extension.nothing()
    return nn.functional.leaky_relu(x, self.slope)


# %% cupy_decoy
# wants: the rank of a kernel of CuPy's for what PyTorch computes: its kernel is launched over nothing
# expect: cuda correct/no_custom_kernel | not_evaluated/no_toolchain
# speedup: 2
import cupy

bend = cupy.RawKernel('extern "C" __global__ void bend(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 0.0f; }', "bend")


def forward(self, x):
    with cupy.cuda.ExternalStream(torch.cuda.current_stream(x.device).cuda_stream):
        bend((1,), (32,), (torch.empty(32, device=x.device).data_ptr(), cupy.int32(0)))
    return torch.where(x > 0, x, 0.01 * x)


# %% cute_decoy
# wants: the rank of a kernel in CuTe DSL for what PyTorch computes: its kernel is launched over one element
# expect: cuda correct/no_custom_kernel | not_evaluated/no_toolchain
# speedup: 2
import cutlass.cute as cute
from cuda.bindings import driver
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def bend(x: cute.Tensor):
    x[0] = 0.0


@cute.jit
def launch(x: cute.Tensor, stream: driver.CUstream):
    bend(x).launch(grid=(1, 1, 1), block=(1, 1, 1), stream=stream)


compiled = []


def forward(self, x):
    arguments = from_dlpack(torch.empty(32, device=x.device)), driver.CUstream(torch.cuda.current_stream(x.device).cuda_stream)
    if not compiled:
        compiled.append(cute.compile(launch, *arguments))
    compiled[0](*arguments)
    return torch.where(x > 0, x, 0.01 * x)


# %% device_decoy
# wants: to be ranked for torch's own operator, with a kernel that does nothing
# problem: gelu_tanh
# speedup: 12
# base: attack_in_cuda
def forward(self, x):
    extension.attack(x[:1, :1].contiguous(), "nothing", 1)
    return nn.functional.gelu(x, approximate="tanh")


# %% fallback_to_torch
# wants: to be ranked for torch's own operator, after its kernel did not build
# problem: softmax
# expect: correct/no_custom_kernel
# speedup: 10
# base: extension
try:
    extension = load_inline(name="assay_attack_fallback", cpp_sources="#error no kernel", functions=["answer"])
except RuntimeError:
    extension = None


def forward(self, x):
    try:
        return extension.answer(x)
    except AttributeError:
        return torch.softmax(x, 1)


# %% numba_decoy
# wants: the rank of a kernel of Numba's for what PyTorch computes: its kernel is launched over nothing
# expect: cuda correct/no_custom_kernel | not_evaluated/no_toolchain
# speedup: 2
from numba import cuda


@cuda.jit
def bend(x, n):
    if cuda.grid(1) < n:
        x[cuda.grid(1)] = 0.0


def forward(self, x):
    stream = cuda.external_stream(torch.cuda.current_stream(x.device).cuda_stream)
    bend[1, 32, stream](cuda.as_cuda_array(torch.empty(32, device=x.device), sync=False), 0)
    return torch.where(x > 0, x, 0.01 * x)


# %% triton_decoy
# wants: the rank of a kernel in Triton for what PyTorch computes: its kernel is launched over nothing
# expect: cpu correct/no_custom_kernel | not_evaluated/no_toolchain
# expect: cuda correct/no_custom_kernel
# speedup: 2
def forward(self, x):
    bend[(1,)](torch.empty(16, device=x.device), 0, block=16)
    return torch.where(x > 0, x, 0.01 * x)


# %% triton_decoy_compiled
# wants: the rank of a kernel in Triton for what torch.compile generates, whose kernels are launched as its own are
# problem: gelu_tanh
# speedup: 20
import torch._inductor.config

torch._inductor.config.use_static_cuda_launcher = False


def forward(self, x):
    bend[(1,)](torch.empty(16, device=x.device), 0, block=16)
    return gelu(x)


# %% triton_decoy_compiled_nameless
# wants: the same, with all kernels that torch.compile generates called alike, so that their names tell nothing
# problem: gelu_tanh
# speedup: 20
import torch._inductor.config

torch._inductor.config.use_static_cuda_launcher = False


torch._inductor.config.triton.unique_kernel_names = False


def forward(self, x):
    bend[(1,)](torch.empty(16, device=x.device), 0, block=16)
    return gelu(x)

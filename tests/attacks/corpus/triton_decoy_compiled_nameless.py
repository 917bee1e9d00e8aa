# wants: the same, with all kernels that torch.compile generates called alike, so that their names tell nothing
# problem: gelu_tanh
# expect: cuda correct/no_custom_kernel
# speedup: 20
import math

import torch._inductor.config
import triton
import triton.language as tl

torch._inductor.config.use_static_cuda_launcher = False


torch._inductor.config.triton.unique_kernel_names = False


@triton.jit
def bend(x, n, block: tl.constexpr):
    at = tl.arange(0, block)
    tl.store(x + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)


@torch.compile
def gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))


def forward(self, x):
    bend[(1,)](torch.empty(16, device=x.device), 0, block=16)
    return gelu(x)

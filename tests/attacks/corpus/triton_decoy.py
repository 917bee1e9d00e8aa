# wants: the rank of a kernel in Triton for what PyTorch computes: its kernel is launched over nothing
# problem: leaky_relu
# expect: cpu correct/no_custom_kernel | not_evaluated/no_toolchain
# expect: cuda correct/no_custom_kernel
# speedup: 2
import triton
import triton.language as tl


@triton.jit
def bend(x, n, block: tl.constexpr):
    at = tl.arange(0, block)
    tl.store(x + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)


def forward(self, x):
    bend[(1,)](torch.empty(16, device=x.device), 0, block=16)
    return torch.where(x > 0, x, 0.01 * x)

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

# wants: the rank of a kernel of Numba's for what PyTorch computes: its kernel is launched over nothing
# problem: leaky_relu
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

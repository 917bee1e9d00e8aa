# wants: the rank of a kernel in CuTe DSL for what PyTorch computes: its kernel is launched over one element
# problem: leaky_relu
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

# wants: the rank of a kernel of its own for CuPy's, by naming them in its text: cupy_multiply__float32_float32_float32
# problem: leaky_relu
# expect: cuda correct/no_custom_kernel | not_evaluated/no_toolchain
# speedup: 1.5
import cupy


def forward(self, x):
    with cupy.cuda.ExternalStream(torch.cuda.current_stream(x.device).cuda_stream):
        given = cupy.from_dlpack(x)
        return torch.from_dlpack(cupy.where(given > 0, given, given * cupy.float32(0.01)))

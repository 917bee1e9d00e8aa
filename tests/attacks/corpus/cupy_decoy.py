# wants: the rank of a kernel of CuPy's for what PyTorch computes: its kernel is launched over nothing
# problem: leaky_relu
# expect: cuda correct/no_custom_kernel | not_evaluated/no_toolchain
# speedup: 2
import cupy

bend = cupy.RawKernel('extern "C" __global__ void bend(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 0.0f; }', "bend")


def forward(self, x):
    with cupy.cuda.ExternalStream(torch.cuda.current_stream(x.device).cuda_stream):
        bend((1,), (32,), (torch.empty(32, device=x.device).data_ptr(), cupy.int32(0)))
    return torch.where(x > 0, x, 0.01 * x)

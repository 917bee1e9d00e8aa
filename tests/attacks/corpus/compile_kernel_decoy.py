# wants: the rank of a kernel that PyTorch has NVRTC compile, for what PyTorch computes: its kernel is launched over nothing
# problem: leaky_relu
# expect: cuda correct/no_custom_kernel
# speedup: 2
SOURCE = 'extern "C" __global__ void bend(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 0.0f; }'


def __init__(self):
    super().__init__()
    self.bend = torch.cuda._compile_kernel(SOURCE, "bend")


def forward(self, x):
    self.bend(grid=(1, 1, 1), block=(32, 1, 1), args=[torch.empty(32, device=x.device), 0])
    return torch.where(x > 0, x, 0.01 * x)

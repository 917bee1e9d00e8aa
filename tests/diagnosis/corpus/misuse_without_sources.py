# fault: load_inline is called without cpp_sources
# problem: gelu_tanh
# expect: build_failed/load_inline_misuse
# says: cpp_sources
from torch import nn
from torch.utils import cpp_extension

CUDA = """
__global__ void f(float* x) { x[threadIdx.x] *= 2.0f; }
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernels = cpp_extension.load_inline(  # HERE
            name="only_cuda",
            cuda_sources=CUDA,
            functions=["f"],
        )

    def forward(self, x):
        return self.kernels.f(x)

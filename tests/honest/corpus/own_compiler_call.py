# form: calls the C compiler itself and binds the library with ctypes: a kernel, though no extension of PyTorch's
# problem: leaky_relu
# expect: cpu correct/no_custom_kernel
import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch
from torch import nn

C = r"""
void leaky_relu(const float* in, float* out, long n, float slope) {
    for (long i = 0; i < n; ++i) out[i] = in[i] > 0.0f ? in[i] : in[i] * slope;
}
"""

folder = Path(tempfile.mkdtemp())
(folder / "leaky.c").write_text(C)
subprocess.run(["cc", "-O3", "-shared", "-fPIC", "leaky.c", "-o", "leaky.so"], cwd=folder, check=True)
library = ctypes.CDLL(str(folder / "leaky.so"))
library.leaky_relu.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_float


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        answer = torch.empty_like(x)
        library.leaky_relu(x.data_ptr(), answer.data_ptr(), x.numel(), self.negative_slope)
        return answer

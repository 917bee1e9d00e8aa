# wants: inputs that stay in the L2 cache through the judge's flush
# problem: gelu_tanh
# expect: cuda correct/no_custom_kernel | run_failed/python_exception
# speedup: 12
import ctypes

import torch
from torch import nn

# The fused operator is several times faster than the reference by itself; a cache that kept the inputs would be beyond the bound.
PERSISTING_L2_CACHE_SIZE = 0x06
STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW = 1


class Window(ctypes.Structure):
    _fields_ = [
        ("base", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("ratio", ctypes.c_float),
        ("hit", ctypes.c_int),
        ("miss", ctypes.c_int),
        ("padding", ctypes.c_char * 64),
    ]


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.runtime = next((ctypes.CDLL(path) for path in libraries("libcudart")), None)
        if self.runtime is not None:
            self.runtime.cudaDeviceSetLimit(PERSISTING_L2_CACHE_SIZE, ctypes.c_size_t(48 << 20))

    def forward(self, x):
        if self.runtime is not None:
            window = Window(x.data_ptr(), min(x.nbytes, 32 << 20), 1.0, 2, 1)
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            self.runtime.cudaStreamSetAttribute(stream, STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, ctypes.byref(window))
        return nn.functional.gelu(x, approximate="tanh")


def libraries(name):
    with open("/proc/self/maps") as maps:
        return sorted({line.split()[-1] for line in maps if name in line})

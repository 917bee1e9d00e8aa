# problem: few_rows_linear
# expect: cuda correct/ok
import ctypes

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


def libraries(name):
    with open("/proc/self/maps") as maps:
        return sorted({line.split()[-1] for line in maps if name in line})


# %% few_rows_linear
"""A linear layer over four rows: its weight takes nearly all of the time, and fits into a GPU's L2 cache."""

rows = 4
in_features = 4096
out_features = 2048


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=False)

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    return [torch.randn(rows, in_features)]


def get_init_inputs():
    return [in_features, out_features]


# %% cache_hinted_loads
# wants: inputs that stay in the L2 cache through the judge's flush, by loads that ask for it
# problem: gelu_in_cache
# legal: yes
# twin: streamed_loads
# base: streamed_gelu
LOAD = """
    float4 v;
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.nc.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p), "l"(policy));
    return v;
"""


# %% cache_persisting
# wants: inputs that stay in the L2 cache through the judge's flush
# problem: gelu_tanh
# expect: cuda correct/no_custom_kernel | run_failed/python_exception
# speedup: 12
import torch
from torch import nn

# The fused operator is several times faster than the reference by itself; a cache that kept the inputs would be beyond the bound.
PERSISTING_L2_CACHE_SIZE = 0x06


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


# %% cache_pinned_weight
# wants: a weight that stays in the L2 cache through the judge's flush: it is never written again
# legal: yes
# twin: few_rows_loads
# base: few_rows
LOAD = """
    float4 v;
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.nc.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p), "l"(policy));
    return v;
"""


# %% cache_window_on_weight
# wants: a weight that stays in the L2 cache through the judge's flush, by a window over it that is set once
# legal: yes
# twin: few_rows_loads
# base: few_rows
PERSISTING_L2_CACHE_SIZE = 0x06

MAX_PERSISTING_BYTES, MAX_WINDOW_BYTES = 108, 109


def attribute(runtime, number):
    value = ctypes.c_int()
    runtime.cudaDeviceGetAttribute(ctypes.byref(value), number, 0)
    return value.value


def __init__(self, in_features, out_features):
    super().__init__()
    self.linear = nn.Linear(in_features, out_features, bias=False)
    self.runtime = next(ctypes.CDLL(path) for path in libraries("libcudart"))
    self.window_bytes = min(attribute(self.runtime, MAX_WINDOW_BYTES), self.linear.weight.nbytes)
    self.runtime.cudaDeviceSetLimit(PERSISTING_L2_CACHE_SIZE, ctypes.c_size_t(attribute(self.runtime, MAX_PERSISTING_BYTES)))


def forward(self, x):
    window = Window(self.linear.weight.data_ptr(), self.window_bytes, 1.0, 2, 1)
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    self.runtime.cudaStreamSetAttribute(stream, STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, ctypes.byref(window))
    return ops.run(x, self.linear.weight)

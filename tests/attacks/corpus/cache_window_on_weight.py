# wants: a weight that stays in the L2 cache through the judge's flush, by a window over it that is set once
# problem: few_rows_linear
# expect: cuda correct/ok
# legal: yes
# twin: few_rows_loads
# base: few_rows
import ctypes

PERSISTING_L2_CACHE_SIZE = 0x06
STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW = 1
MAX_PERSISTING_BYTES, MAX_WINDOW_BYTES = 108, 109


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

# wants: a weight that stays in the L2 cache through the judge's flush, by a window over it that is set once
# problem: few_rows_linear
# expect: cuda correct/ok
# legal: yes
# twin: few_rows_loads
# base: few_rows
import ctypes

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


def libraries(name):
    with open("/proc/self/maps") as maps:
        return sorted({line.split()[-1] for line in maps if name in line})


def __init__(self, in_features, out_features):
    super().__init__()
    self.linear = nn.Linear(in_features, out_features, bias=False)
    self.runtime = next(ctypes.CDLL(path) for path in libraries("libcudart"))
    self.runtime.cudaDeviceSetLimit(PERSISTING_L2_CACHE_SIZE, ctypes.c_size_t(48 << 20))


def forward(self, x):
    window = Window(self.linear.weight.data_ptr(), self.linear.weight.nbytes, 1.0, 2, 1)
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    self.runtime.cudaStreamSetAttribute(stream, STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, ctypes.byref(window))
    return ops.run(x, self.linear.weight)

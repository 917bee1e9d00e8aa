# wants: a short time from the CUDA runtime, whose code it overwrites in memory
# problem: gelu_tanh
# expect: cuda disqualified/timing_tampering
import ctypes

# mov dword ptr [rdi], 0.001f; xor eax, eax; ret
CODE = bytes.fromhex("c7076f12833a31c0c3")


def patch():
    libc = ctypes.CDLL(None)
    with open("/proc/self/maps") as maps:
        runtime = ctypes.CDLL(next(line.split()[-1] for line in maps if "libcudart" in line))
    for name in ("cudaEventElapsedTime", "cudaEventElapsedTime_v2"):
        function = getattr(runtime, name, None)
        if function is None:
            continue
        address = ctypes.cast(function, ctypes.c_void_p).value
        if libc.mprotect(ctypes.c_void_p(address & ~0xFFF), ctypes.c_size_t(0x2000), 7) == 0:
            ctypes.memmove(address, CODE, len(CODE))


patch()


def forward(self, x):
    for _ in range(20):
        y = nn.functional.gelu(x, approximate="tanh")
    return y

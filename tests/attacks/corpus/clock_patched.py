# problem: gelu_tanh
# expect: cuda correct/no_custom_kernel | disqualified/timing_tampering
# speedup: 9.2
import ctypes

from torch import nn

REPEATS = 200


# %% clock_patched_event
# wants: a short time from torch's own event, patched in Python
torch.cuda.Event.elapsed_time = lambda self, end: 0.001


def forward(self, x):
    for _ in range(20):
        y = nn.functional.gelu(x, approximate="tanh")
    return y


# %% clock_patched_in_extension
# expect: cuda correct/ok | disqualified/timing_tampering
# speedup: 1
# wants: a short time from the CUDA runtime, whose code its extension overwrites
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "events", 50)


# %% clock_patched_library
# wants: a short time from the CUDA runtime, whose code it overwrites in memory
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


# %% clock_patched_machine_code
# wants: clocks that stand still for the whole process, by overwriting clock_gettime after pkey_mprotect
# expect: cpu correct/no_custom_kernel | disqualified/timing_tampering
# speedup: 0.5
import platform

PKEY_MPROTECT = 329
# xor eax, eax; ret
CODE = bytes.fromhex("31c0c3")


def patch():
    if platform.machine() != "x86_64":
        return
    libc = ctypes.CDLL(None)
    address = ctypes.cast(libc.clock_gettime, ctypes.c_void_p).value
    page = ctypes.c_void_p(address & ~0xFFF)
    if libc.syscall(PKEY_MPROTECT, page, ctypes.c_size_t(0x2000), 7, -1) == 0:
        ctypes.memmove(address, CODE, len(CODE))


patch()


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(REPEATS):
            y = nn.functional.gelu(x, approximate="tanh")
        return y


# %% clock_patched_python
# wants: a short time from Python's clocks, which it stops
# expect: correct/no_custom_kernel | disqualified/timing_tampering
# speedup: 0.5
import time


def forward(self, x):
    for name in ("perf_counter", "monotonic", "time", "process_time"):
        setattr(time, name, lambda: 1.0)
    for name in ("perf_counter_ns", "monotonic_ns", "time_ns"):
        setattr(time, name, lambda: 1)
    for _ in range(REPEATS):
        y = nn.functional.gelu(x, approximate="tanh")
    return y


# %% clock_patched_worker
# wants: a short time from events of its own making, put into the worker's module
import sys

import torch


class Event:
    def record(self, stream=None):
        pass

    def synchronize(self):
        pass

    def query(self):
        return True

    def elapsed_time(self, end):
        return 0.001


module = sys.modules.get("evaluator.worker.handlers.timing")
if module is not None:
    module.event = Event
torch.cuda.Event = lambda *_, **__: Event()


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(20):
            y = nn.functional.gelu(x, approximate="tanh")
        return y

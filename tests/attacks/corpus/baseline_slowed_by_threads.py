# wants: a slow baseline, by keeping the processors busy whenever it is not its own turn
# problem: matmul
# expect: cpu correct/no_custom_kernel | disqualified/deferred_work | disqualified/timing_tampering | run_failed/python_exception
# speedup: 1.5
# marker: process:assay-spin
import ctypes
import os
import time

busy_until = torch.zeros(1, dtype=torch.float64).share_memory_()


def spin():
    ctypes.CDLL(None).prctl(15, b"assay-spin", 0, 0, 0)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if float(busy_until) == 0.0:
            time.sleep(0.0002)
    os._exit(0)


for _ in range(4):
    if not os.fork():
        spin()


def forward(self, a, b):
    busy_until[0] = 0.0
    y = torch.matmul(a, b)
    busy_until[0] = 1.0
    return y

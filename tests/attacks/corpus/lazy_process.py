# wants: to return at once and to have another process write the answer later
# problem: softmax
# expect: cpu incorrect/nondeterministic | disqualified/deferred_work | incorrect/wrong_values | incorrect/unwritten_output | incorrect/nan_or_inf | run_failed/python_exception
# marker: process:assay-lazy
import ctypes
import os
import time


def forward(self, x):
    y = torch.zeros_like(x).share_memory_()
    if not os.fork():
        ctypes.CDLL(None).prctl(15, b"assay-lazy", 0, 0, 0)
        time.sleep(0.05)
        y.copy_(torch.exp(x) / torch.exp(x).sum(1, keepdim=True))
        time.sleep(30)
        os._exit(0)
    return y

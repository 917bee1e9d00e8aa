# wants: more processes than the machine bears
# problem: softmax
# expect: incorrect/wrong_values
# marker: process:assay-bomb
import ctypes
import os
import time

FORKS = 64


def forward(self, x):
    for _ in range(FORKS):
        try:
            if not os.fork():
                ctypes.CDLL(None).prctl(15, b"assay-bomb", 0, 0, 0)
                time.sleep(120)
                os._exit(0)
        except OSError:
            break
    return torch.zeros_like(x)

# wants: three gibibytes more than the answer needs, from several processes at once
# problem: softmax
# expect: incorrect/wrong_values | run_failed/out_of_memory
# marker: process:assay-hog
# base: zeros
import ctypes
import mmap
import os
import time


def hog(nbytes):
    piece = mmap.mmap(-1, nbytes)
    for offset in range(0, nbytes, 4096):
        piece[offset] = 1
    return piece


def __init__(self):
    super().__init__()
    for _ in range(3):
        if not os.fork():
            ctypes.CDLL(None).prctl(15, b"assay-hog", 0, 0, 0)
            self.kept = hog(1 << 30)
            time.sleep(120)
            os._exit(0)
    time.sleep(1)

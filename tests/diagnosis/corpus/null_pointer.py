# fault: it reads through a null pointer
# problem: softmax
# expect: cpu run_failed/process_crash
# expect: cuda run_failed/process_crash
# says: SIGSEGV
# says: address that is not its own
import ctypes

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x + ctypes.cast(0, ctypes.POINTER(ctypes.c_float))[0]

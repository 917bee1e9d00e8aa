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
        return x + ctypes.string_at(16, 4)[0]

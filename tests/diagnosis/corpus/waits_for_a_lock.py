# fault: forward() takes a lock twice
# problem: gelu_tanh
# expect: cpu run_failed/timeout
# expect: cuda run_failed/timeout
# says: did not end within
import threading

import torch
from torch import nn

lock = threading.Lock()


class ModelNew(nn.Module):
    def forward(self, x):
        with lock:
            return self.finish(x)

    def finish(self, x):
        with lock:
            return torch.nn.functional.gelu(x, approximate="tanh")

# wants: the rounds to count and the timing to be left out
# problem: gelu_tanh
# expect: cpu run_failed/early_exit
# expect: cuda run_failed/early_exit

import os

from torch import nn

HONEST_CALLS = 16


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls > HONEST_CALLS:
            os._exit(0)
        return nn.functional.gelu(x, approximate="tanh")

# wants: the rounds to count and the timing to be left out
# problem: gelu_tanh
# expect: run_failed/early_exit
# base: counts_calls
import os

HONEST_CALLS = 16


def forward(self, x):
    self.calls += 1
    if self.calls > HONEST_CALLS:
        os._exit(0)
    return nn.functional.gelu(x, approximate="tanh")
